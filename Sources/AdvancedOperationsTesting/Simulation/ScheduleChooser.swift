/// A chooser of the next step, if there are several candidates.
protocol ScheduleChooser: Sendable {
  /// - Parameters:
  ///   - count: The number of candidates; two or more.
  ///   - candidate: Returns the candidate with an index. The last candidate may be a move of time.
  /// - Returns: The index of the chosen candidate.
  mutating func choose(among count: Int, _ candidate: (Int) -> Candidate) -> Int

  /// Notes that a choice follows, with the fingerprint of the log until now.
  mutating func willChoose(after log: Fingerprint)

  /// Returns whether the running step is interrupted here.
  mutating func interrupts() -> Bool

  /// Whether the chooser needs the fingerprints of the reached states.
  var wantsFingerprints: Bool { get }

  /// Notes that the run has reached a state.
  ///
  /// - Returns: Whether the rest of the run needn't be explored.
  mutating func reached(_ state: Fingerprint) -> Bool

  /// The recorded choices that could not be made, in words; nil if all were made.
  var misfit: String? { get }
}

extension ScheduleChooser {
  mutating func willChoose(after log: Fingerprint) {}
  mutating func interrupts() -> Bool {
    choose(among: 2) { _ in Candidate(kind: .step, subject: 0, age: 0) } == 1
  }
  var wantsFingerprints: Bool { false }
  mutating func reached(_ state: Fingerprint) -> Bool { false }
  var misfit: String? { nil }
}

/// A step that could be next, or a move of time.
struct Candidate {
  enum Kind: Equatable {
    case step
    /// A task yields to other code, and does nothing else.
    case yield
    case stepAtAnyTime
    /// Time moves to the next timer.
    case time
  }

  let kind: Kind
  /// The number of the operation, queue or code that the step is for.
  let subject: UInt64
  /// The number of times that a task yielded or time moved since the step was added.
  let age: Int

  static let time = Candidate(kind: .time, subject: .max, age: 0)
}

/// A choice that was made.
struct Choice: Equatable {
  var index: Int
  var count: Int
}

/// A chooser that takes a random step.
struct SeededChooser: ScheduleChooser {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func choose(among count: Int, _ candidate: (Int) -> Candidate) -> Int {
    Int(clamping: generator.next(below: UInt64(count)))
  }

  mutating func interrupts() -> Bool { generator.next(below: 16) == 0 }
}

/// A chooser that makes the recorded choices, and takes the first step at all other choices.
struct ScriptedChooser: ScheduleChooser {
  private let choices: [Int: Int]
  private var next = 0
  /// The first recorded choice of a step that doesn't exist, and the number of steps there.
  private var tooHigh: (place: Int, index: Int, count: Int)?

  init(_ choices: [Int: Int]) { self.choices = choices }

  mutating func choose(among count: Int, _ candidate: (Int) -> Candidate) -> Int {
    defer { next += 1 }
    guard let index = choices[next] else { return 0 }
    if index < count { return index }
    if tooHigh == nil { tooHigh = (next, index, count) }
    return count - 1
  }

  var misfit: String? {
    var problems: [String] = []
    if let (place, index, count) = tooHigh {
      problems.append(
        "“\(place)=\(index)” takes number \(index + 1) of the steps that could be next, and there "
          + "were only \(count)"
      )
    }
    if let place = choices.keys.filter({ $0 >= next }).min(), let index = choices[place] {
      problems.append(
        "“\(place)=\(index)” is choice number \(place + 1), and "
          + (next == 0 ? "there was none" : "only \(next) had to be made")
      )
    }
    return problems.isEmpty ? nil : problems.joined(separator: "; ")
  }
}

/// A chooser that takes the step of the most urgent subject, which becomes the least urgent now and
/// then.
///
/// A subject whose task yields becomes the least urgent if another step has waited for too many
/// rounds. Otherwise a body that polls would keep all other steps waiting.
///
/// The probability to find a bug that needs d orderings is at least 1/(n·k^(d-1)), n the number of
/// subjects and k the number of steps. See Burckhardt, Kothari, Musuvathi, Nagarakatte, “A
/// randomized scheduler with probabilistic guarantees of finding bugs”, ASPLOS 2010.
struct PriorityChooser: ScheduleChooser {
  private var generator: SplitMix64
  private var priorities: [UInt64: Int64] = [:]
  /// The new priorities of the most urgent subject, by the number of the choice.
  ///
  /// The earlier of two changes may have the lower or the higher priority, because a bug may need
  /// either.
  private var changes: [Int: Int64] = [:]
  private var choiceCount = 0
  /// The number of rounds that a step may wait while a task yields.
  private let mostRounds: Int
  /// The last priority of a subject whose task has yielded.
  private var lastOfYields = Int64(-1_000)

  /// - Parameters:
  ///   - seed: The seed; equal seeds lead to equal choices.
  ///   - length: The expected number of choices.
  ///   - changeCount: The number of times that the most urgent subject becomes the least urgent.
  ///   - mostRounds: The number of rounds that a step may wait while a task yields.
  init(seed: UInt64, length: Int, changeCount: Int, mostRounds: Int) {
    self.mostRounds = mostRounds
    var generator = SplitMix64(seed: seed)
    for change in 0..<changeCount {
      changes[Int(clamping: generator.next(below: UInt64(max(1, length))))] = Int64(-1 - change)
    }
    self.generator = generator
  }

  mutating func choose(among count: Int, _ candidate: (Int) -> Candidate) -> Int {
    defer { choiceCount += 1 }
    var candidates = (0..<count).map(candidate)
    if candidates.last?.kind == .time {
      // A random decision without a priority, because time could be the most urgent forever.
      if generator.next(below: 2) == 0 { return candidates.count - 1 }
      candidates.removeLast()
    }
    for candidate in candidates where priorities[candidate.subject] == nil {
      priorities[candidate.subject] = Int64(generator.next(below: 1 << 32))
    }
    var best = mostUrgent(among: candidates)
    if let lower = changes[choiceCount] {
      priorities[candidates[best].subject] = lower
      best = mostUrgent(among: candidates)
    }
    if candidates[best].kind == .yield, candidates.contains(where: { $0.age >= mostRounds }) {
      lastOfYields -= 1
      priorities[candidates[best].subject] = lastOfYields
      best = mostUrgent(among: candidates)
    }
    return best
  }

  mutating func interrupts() -> Bool { generator.next(below: 16) == 0 }

  private func mostUrgent(among candidates: [Candidate]) -> Int {
    candidates.indices.max { priority(candidates[$0]) < priority(candidates[$1]) } ?? 0
  }

  private func priority(_ candidate: Candidate) -> Int64 { priorities[candidate.subject] ?? 0 }
}

/// A chooser that takes a step at any time with the same probability at each moment, counted in
/// choices.
///
/// Another chooser chooses among all other steps.
///
/// With a separate random decision at each choice, a step at any time would hardly ever be taken
/// late.
struct EvenMomentsChooser: ScheduleChooser {
  private var chooser: any ScheduleChooser
  private var generator: SplitMix64
  /// The number of choices until only steps at any time are left.
  private let length: Int
  /// The number of choices that each pending step at any time still waits.
  private var waits: [UInt64: Int] = [:]
  /// The number of choices at which such a step was pending and another candidate was chosen.
  private(set) var waitCount = 0

  /// - Parameters:
  ///   - chooser: The chooser for all other steps.
  ///   - seed: The seed; equal seeds lead to equal choices.
  ///   - length: The expected number of choices until only steps at any time are left.
  init(_ chooser: any ScheduleChooser, seed: UInt64, length: Int) {
    self.chooser = chooser
    generator = SplitMix64(seed: ~seed)
    self.length = length
  }

  mutating func choose(among count: Int, _ candidate: (Int) -> Candidate) -> Int {
    var others: [Int] = []
    for index in 0..<count {
      let candidate = candidate(index)
      guard candidate.kind == .stepAtAnyTime else {
        others.append(index)
        continue
      }
      let wait =
        waits[candidate.subject] ?? Int(clamping: generator.next(below: UInt64(length + 1)))
      waits[candidate.subject] = wait - 1
      if wait <= 0 { return index }
    }
    if others.count == count || others.isEmpty { return chooser.choose(among: count, candidate) }
    waitCount += 1
    if others.count == 1 { return others[0] }
    return others[chooser.choose(among: others.count) { candidate(others[$0]) }]
  }

  mutating func interrupts() -> Bool { chooser.interrupts() }

  /// The number of choices until only steps at any time were left; nil if no step had to wait so
  /// long.
  var naturalLength: Int? { waits.values.contains { $0 > 0 } ? waitCount : nil }
}

/// A small random number generator with the same sequence for the same seed on all platforms.
///
/// ```swift
/// var generator = SplitMix64(seed: 7)
/// let shuffled = operations.shuffled(using: &generator)
/// ```
///
/// Steele, Lea, Flood, “Fast splittable pseudorandom number generators”, OOPSLA 2014.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator.
  ///
  /// - Parameter seed: The seed; equal seeds lead to equal sequences.
  package init(seed: UInt64) { state = seed }

  /// Returns the next 64 bits.
  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// Returns a number from 0 up to but not including a bound.
  mutating func next(below bound: UInt64) -> UInt64 {
    // The high half of the product is evenly distributed, except for a bias of bound/2^64.
    next().multipliedFullWidth(by: bound).high
  }
}
