/// A schedule as text: the seed, and which step was taken where that was not the first.
///
/// `7;2=1,5=3` begins with the seed 7, takes the second of the pending steps at the third choice,
/// the fourth at the sixth, and the first everywhere else.
package struct Schedule: Equatable, CustomStringConvertible {
  package var seed: UInt64
  /// How often a step may be interrupted.
  package var interruptions = 0
  package var choices: [Int: Int]

  package init(seed: UInt64, interruptions: Int = 0, choices: [Int: Int]) {
    self.seed = seed
    self.interruptions = interruptions
    self.choices = choices
  }

  init(seed: UInt64, interruptions: Int = 0, _ choices: [Choice]) {
    self.init(
      seed: seed,
      interruptions: interruptions,
      choices: Dictionary(
        uniqueKeysWithValues: choices.enumerated().filter { $0.element.index > 0 }
          .map { ($0.offset, $0.element.index) }
      )
    )
  }

  package init?(_ text: String) {
    let parts = text.split(separator: ";", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let heads = parts[0].split(separator: "!", omittingEmptySubsequences: false)
    guard let seed = heads.first.flatMap({ UInt64($0) }), heads.count <= 2 else { return nil }
    if heads.count == 2 {
      guard let count = Int(heads[1]), count > 0 else { return nil }
      interruptions = count
    }
    self.seed = seed
    choices = [:]
    for part in parts[1].split(separator: ",") {
      let sides = part.split(separator: "=", omittingEmptySubsequences: false)
      guard sides.count == 2, let place = Int(sides[0]), let index = Int(sides[1]),
        place >= 0, index > 0, choices[place] == nil
      else { return nil }
      choices[place] = index
    }
  }

  package var description: String {
    let list = choices.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    let head = interruptions > 0 ? "\(seed)!\(interruptions)" : "\(seed)"
    return "\(head);\(list.joined(separator: ","))"
  }
}
