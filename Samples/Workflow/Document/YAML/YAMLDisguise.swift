/// A text in which each asterisk, and a letter of each repeated key, is a character of no meaning.
///
/// Aliases become words of the same length that begin with such a character, so that places stay
/// what they are; texts that have asterisks get them back.
struct YAMLDisguise {
  /// The characters of the text.
  private var scalars: [Unicode.Scalar]
  /// Where lines begin among them.
  private let lineStarts: [Int]
  /// What the characters of no meaning stand for.
  private var originals: [Unicode.Scalar: Unicode.Scalar] = [:]
  /// The character that stands for an asterisk.
  let asterisk: Unicode.Scalar
  /// Characters that the text doesn't have.
  private var free: [Unicode.Scalar]

  /// Disguises a text.
  init(_ text: String) {
    var scalars = Array(text.unicodeScalars)
    // Fonts with icons use some of these.
    let used = Set(scalars.lazy.map(\.value).filter { $0 >= 0xF0000 })
    let unused = (UInt32(0xF0000)...0xFFFFD).lazy.filter { !used.contains($0) }.prefix(40)
    var free = Array(unused).compactMap { Unicode.Scalar($0) }
    asterisk = free.removeLast()
    self.free = free
    var starts = [0]
    for index in scalars.indices {
      switch scalars[index] {
      case "*": scalars[index] = asterisk
      case "\r" where scalars.indices.contains(index + 1) && scalars[index + 1] == "\n": break
      case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": starts.append(index + 1)
      default: break
      }
    }
    lineStarts = starts
    originals[asterisk] = "*"
    self.scalars = scalars
  }

  /// The text for the parser.
  var text: String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }

  /// Makes a key different from others, whose text is the same.
  ///
  /// - Returns: Whether it is a key that this can be done with.
  mutating func hideKey(at place: Place) -> Bool {
    guard lineStarts.indices.contains(place.line - 1), let stand = free.popLast() else {
      return false
    }
    var index = lineStarts[place.line - 1] + place.column - 1
    guard scalars.indices.contains(index + 1) else { return false }
    if scalars[index] == "\"" || scalars[index] == "'" { index += 1 }
    guard scalars[index].properties.isAlphabetic || scalars[index].properties.numericType != nil,
      scalars[index].value < 0xF0000
    else { return false }
    originals[stand] = scalars[index]
    scalars[index] = stand
    return true
  }

  /// A text as it was.
  func original(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 >= 0xF3 }) else { return text }
    var view = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { view.append(originals[scalar] ?? scalar) }
    return String(view)
  }
}
