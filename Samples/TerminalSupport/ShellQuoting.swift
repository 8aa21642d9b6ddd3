/// Text as a word of a POSIX shell's language, whatever it contains.
package enum ShellQuoting {
  /// Puts a word between single quotes; one of its own becomes `'\''`.
  ///
  /// What follows a zero byte is cut off: no argument and no variable can have one.
  package static func word(_ text: String) -> String {
    let text = text.prefix { $0 != "\0" }
    return "'"
      + text.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: #"'\''"#) + "'"
  }

  /// Whether a shell can assign to a variable of that name.
  package static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, !isDigit(first) else { return false }
    return text.utf8.allSatisfy { isLetter($0) || isDigit($0) }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
