import TerminalSupport

/// Texts as YAML has them.
enum YAMLText {
  /// A text on one line: as it is where that is the same, in double quotes otherwise.
  static func scalar(_ text: String) -> String {
    if isPlain(text) { return text }
    return text.doubleQuoted { isWritten($0) ? nil : $0.yamlEscape }
  }

  /// Whether a character may stand in a file itself.
  private static func isWritten(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isPrintable && scalar != "\u{FEFF}" && scalar.value < 0xFFFE
  }

  /// Whether a text needs no quotes, neither inside of brackets nor for other readers of YAML, to
  /// which `no` and `1.10` are no texts.
  private static func isPlain(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.last != 0x20 else { return false }
    let isDigit = (0x30...0x39).contains(first)
    let start = first == 0x2E ? text.utf8.dropFirst().first ?? 0x30 : first
    guard !isDigit,
      start.isLetterOrDigit && !(0x30...0x39).contains(start) || [0x2F, 0x5F].contains(start)
    else { return false }
    let others = " -_./=+@".utf8
    guard text.utf8.allSatisfy({ $0.isLetterOrDigit || others.contains($0) }) else { return false }
    let words = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", ".inf", ".nan"]
    return !words.contains(text.lowercased())
  }

  /// A list on one line.
  static func list(_ texts: [String]) -> String {
    "[\(texts.map(scalar).joined(separator: ", "))]"
  }

  /// One text as it is, several as a list.
  static func oneOrList(_ texts: [String]) -> String {
    texts.count == 1 ? scalar(texts[0]) : list(texts)
  }

  /// Keys with values on one line, the values being YAML already.
  static func map(_ entries: [(String, String)]) -> String {
    "{\(entries.map { "\(scalar($0.0)): \($0.1)" }.joined(separator: ", "))}"
  }

  /// A text on lines of its own, if that is easier to read and the same.
  ///
  /// - Returns: The lines after the key, the first of which is what stands beside it; nil if the text
  ///   goes on one line.
  static func block(_ text: String) -> [String]? {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let endsLine = lines.last == ""
    if endsLine { lines.removeLast() }
    guard lines.count > 1, lines.last != "", let first = lines.first, !first.isEmpty,
      first.first != " ", first.first != "\t",
      lines.allSatisfy({ line in
        line.unicodeScalars.allSatisfy { isWritten($0) || $0 == "\t" }
          && line.last != " " && line.last != "\t"
      })
    else { return nil }
    return [endsLine ? "|" : "|-"] + lines
  }
}
