extension Int {
  /// The number with commas between thousands, whatever the locale: `1,880`.
  package var grouped: String {
    let digits = String(magnitude)
    let text = digits.enumerated().reduce(into: "") { text, digit in
      if digit.offset > 0, (digits.count - digit.offset).isMultiple(of: 3) { text += "," }
      text.append(digit.element)
    }
    return self < 0 ? "-\(text)" : text
  }

  /// The number with a noun in the right number: `1 event`, `1,880 events`.
  package func counted(_ noun: String) -> String {
    "\(grouped) \(noun)\(self == 1 ? "" : "s")"
  }
}

extension String {
  /// The text, cut to a number of characters, the last of which then is an ellipsis.
  package func cut(to length: Int) -> String {
    if isShort(length) { return self }
    return "\(Self.bounded(prefix(Swift.max(length - 1, 0)), length))…"
  }

  /// The text, cut to a number of characters by leaving out its middle, as names of files need.
  package func cutInside(to length: Int) -> String {
    if isShort(length) { return self }
    let first = length / 3
    let last = length - first - 1
    return "\(Self.bounded(prefix(first), first))…\(Self.bounded(suffix(last), last))"
  }

  private func isShort(_ length: Int) -> Bool {
    count <= length && unicodeScalars.count <= length * Self.scalarsPerCharacter
  }

  private static func bounded(_ part: Substring, _ length: Int) -> String {
    String(part.unicodeScalars.prefix(length * scalarsPerCharacter))
  }

  /// The text with spaces after it up to a number of characters.
  package func padded(to length: Int) -> String {
    self + String(repeating: " ", count: Swift.max(length - count, 0))
  }

  /// The text with spaces before it up to a number of characters.
  package func aligned(to length: Int) -> String {
    String(repeating: " ", count: Swift.max(length - count, 0)) + self
  }
}
