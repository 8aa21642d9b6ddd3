extension String {
  /// The text between double quotes, as JSON and YAML have it.
  ///
  /// - Parameter escape: Returns what stands for a character that isn't to stand there itself; nil:
  ///   it stands there. Quotes, backslashes, line ends and tabs are taken care of.
  /// - Returns: The text with its quotes.
  package func doubleQuoted(escaping escape: (Unicode.Scalar) -> String?) -> String {
    var result = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      default:
        if let text = escape(scalar) {
          result += text
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    return result + "\""
  }
}

extension Unicode.Scalar {
  /// The character as JSON has those that it doesn't let stand: `\u0085`, `\ud83d\ude00`.
  package var jsonEscape: String {
    utf16.map { "\\u" + Self.hexadecimal(UInt32($0), digits: 4) }.joined()
  }

  /// The character as YAML has those that it doesn't let stand: `\U0000feff`.
  package var yamlEscape: String { "\\U" + Self.hexadecimal(value, digits: 8) }

  private static func hexadecimal(_ number: UInt32, digits: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: digits - text.count) + text
  }
}
