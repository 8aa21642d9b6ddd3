import TerminalSupport

/// Amounts as a file has them: `4`, `1GiB`, `500MB`, `2g`.
enum AmountText {
  /// The units of bytes; single letters are powers of 1024.
  private static let units: [String: Int] = {
    var units = ["b": 1]
    for (index, letter) in ["k", "m", "g", "t", "p"].enumerated() {
      let power = index + 1
      units[letter] = 1 << (10 * power)
      units[letter + "ib"] = 1 << (10 * power)
      units[letter + "b"] = (0..<power).reduce(1) { product, _ in product * 1000 }
    }
    return units
  }()

  /// Reads a number of things or of bytes, more than none.
  static func amount(_ text: String) throws(ValueProblem) -> ResourceAmount {
    let quoted = "‘\(text.excerpt())’"
    if text.hasPrefix("-") { throw ValueProblem("the amount \(quoted) is negative") }
    var rest = text[...]
    guard let number = DecimalNumber(takenFrom: &rest) else {
      throw ValueProblem("\(quoted) isn’t an amount", help: "amounts are like ‘4’ or ‘2GiB’")
    }
    if rest.isEmpty {
      return ResourceAmount(try count(text, of: "an amount"), .count)
    }
    if rest.first == " " { rest.removeFirst() }
    guard let unit = units[rest.lowercased()] else {
      let names = ["KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB"]
      throw ValueProblem(
        "\(quoted) isn’t an amount: there is no unit ‘\(rest.excerpt(20))’",
        help: NearestName.help(for: String(rest), among: names)
          ?? "units are KiB, MiB, GiB, TiB, KB, MB, GB, TB and B"
      )
    }
    guard let bytes = number.times(unit) else { throw ValueProblem("\(quoted) is too much") }
    guard bytes > 0 else { throw ValueProblem("the amount \(quoted) is nothing") }
    return ResourceAmount(bytes, .bytes)
  }

  /// Reads a number of bytes, more than none.
  static func bytes(_ text: String) throws(ValueProblem) -> Int {
    let amount = try amount(text)
    guard amount.unit == .bytes else {
      throw ValueProblem(
        "the size ‘\(text.excerpt())’ has no unit",
        help: "‘\(text.excerpt())MiB’?"
      )
    }
    return amount.value
  }

  /// Reads a whole number above zero.
  static func count(_ text: String, of what: String) throws(ValueProblem) -> Int {
    let quoted = "‘\(text.excerpt())’"
    guard let number = Int(text) else {
      let digits = text.drop { $0 == "-" || $0 == "+" }
      guard !digits.isEmpty, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
        throw ValueProblem("\(what) is a whole number, not \(quoted)")
      }
      throw ValueProblem("the number \(quoted) is too large")
    }
    guard number > 0 else { throw ValueProblem("\(what) is at least 1, not \(quoted)") }
    return number
  }

  /// The text of an amount.
  static func text(_ amount: ResourceAmount) -> String {
    amount.unit == .count ? "\(amount.value)" : bytesText(amount.value)
  }

  /// The text of a number of bytes, exactly.
  static func bytesText(_ bytes: Int) -> String {
    for (name, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)]
    where bytes > 0 && bytes.trailingZeroBitCount >= shift {
      return "\(bytes >> shift)\(name)"
    }
    return "\(bytes)B"
  }
}

extension Substring {
  /// See `String.excerpt`.
  func excerpt(_ length: Int = 40) -> String { String(self).excerpt(length) }
}
