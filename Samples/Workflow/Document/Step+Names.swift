extension Step {
  /// The longest name of a file, with room for an ending: file systems take 255 bytes.
  static let fileNameLimit = 200
  /// How many bytes an id may have.
  package static let idLimit = 100

  /// The name of files that are about this step, without an ending: `logs/STEP.log`.
  ///
  /// Letters and digits of all scripts stay as they are; what a file system may not take, or a shell
  /// would have to quote, is `_`. A file in which two steps have the same one, capital and small
  /// letters aside, is refused.
  public var fileName: String { Self.fileName(for: id) }

  /// The name of files about a step with that id.
  package static func fileName(for id: String) -> String {
    name(id) { isPlain($0) || !$0.isASCII && isOfWords($0) }
  }

  /// The same in ASCII alone, for names that people type.
  package static func plainName(for text: String) -> String { name(text, isPlain) }

  private static func name(_ text: String, _ isTaken: (Unicode.Scalar) -> Bool) -> String {
    var name = ""
    for scalar in text.unicodeScalars { name.unicodeScalars.append(isTaken(scalar) ? scalar : "_") }
    return name
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-", "@", ",", "+", "=": true
    default: false
    }
  }

  private static func isOfWords(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .nonspacingMark, .spacingMark, .decimalNumber, .letterNumber, .otherNumber:
      true
    default: false
    }
  }
}
