/// A schedule as text: the seed, and the choices that took another step than the first.
///
/// `7;2=1,5=3` has the seed 7. At the third choice, it takes the second of the pending steps, and at the
/// sixth choice, the fourth. At all other choices, it takes the first. `7;draw=3:40:20` is the random
/// schedule with the number 3, for about 40 choices. After about 20 of these choices, only steps at any time
/// are left.
package struct Schedule: Equatable, CustomStringConvertible {
  package var seed: UInt64
  /// The number of times that steps may be interrupted.
  package var interruptions = 0
  package var choices: [Int: Int]
  /// The random schedule, if its choices aren't known yet.
  package var drawn: Drawn?

  /// A schedule that is drawn at random.
  package struct Drawn: Equatable, Sendable {
    package var number: Int
    package var length: Int
    package var evenLength: Int

    package init(number: Int, length: Int, evenLength: Int) {
      self.number = number
      self.length = length
      self.evenLength = evenLength
    }
  }

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
    if parts[1].hasPrefix("draw=") {
      let numbers = parts[1].dropFirst(5).split(separator: ":", omittingEmptySubsequences: false)
        .map { Int($0) ?? -1 }
      guard numbers.count == 3, numbers.allSatisfy({ $0 >= 0 }) else { return nil }
      drawn = Drawn(number: numbers[0], length: numbers[1], evenLength: numbers[2])
      return
    }
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
    if let drawn { return "\(head);draw=\(drawn.number):\(drawn.length):\(drawn.evenLength)" }
    return "\(head);\(list.joined(separator: ","))"
  }
}

extension Schedule {
  /// A chooser that makes the choices of the schedule.
  var chooser: any ScheduleChooser {
    if let drawn { return ScheduleDrawing.usualChooser(seed: seed, drawn) }
    return ScriptedChooser(choices)
  }
}
