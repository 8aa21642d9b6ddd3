extension String {
  /// The text with some of its characters replaced, as a format wants it.
  ///
  /// - Parameter replacement: What stands for a character; nil for the character itself.
  /// - Returns: The text to write.
  func escaped(_ replacement: (Unicode.Scalar) -> String?) -> String {
    var result = ""
    for scalar in unicodeScalars {
      if let text = replacement(scalar) {
        result += text
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Unicode.Scalar {
  var isControl: Bool { value < 0x20 || value == 0x7f }
}
