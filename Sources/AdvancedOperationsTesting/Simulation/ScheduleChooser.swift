/// Says which of several steps is next.
protocol ScheduleChooser: Sendable {
  /// - Parameters:
  ///   - count: The number of candidates; two or more.
  ///   - candidate: Returns the candidate of an index. The last one may be that time moves.
  /// - Returns: The index of one of them.
  mutating func choose(among count: Int, _ candidate: (Int) -> Candidate) -> Int

  /// A choice comes, after all that this log says.
  mutating func willChoose(after log: Fingerprint)

  /// Whether the step that is going on is interrupted here.
  mutating func interrupts() -> Bool

  /// Whether the chooser wants to know which states are reached.
  var wantsFingerprints: Bool { get }

  /// A state was reached.
  ///
  /// - Returns: Whether the rest of the run is of no interest.
  mutating func reached(_ state: Fingerprint) -> Bool

  /// Which of the choices that were written down could not be made; nil if all could.
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

/// A step that could be next, or that time moves.
struct Candidate {
  enum Kind: Equatable {
    case step
    /// A task lets others run, and does nothing else.
    case yield
    case stepAtAnyTime
    /// Time moves to the next timer.
    case time
  }

  let kind: Kind
  /// The number of the operation, queue or code that the step is for.
  let subject: UInt64
  /// The rounds that have passed since the step was added: how many times a task yielded or time
  /// moved.
  let age: Int

  static let time = Candidate(kind: .time, subject: .max, age: 0)
}

/// One choice that was made.
struct Choice: Equatable {
  var index: Int
  var count: Int
}

/// Any step, as a generator says.
struct SeededChooser: ScheduleChooser {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func choose(among count: Int, _ candidate: (Int) -> Candidate) -> Int {
    Int(clamping: generator.next(below: UInt64(count)))
  }

  mutating func interrupts() -> Bool { generator.next(below: 16) == 0 }
}

/// What was written down, and then the first of the steps.
struct ScriptedChooser: ScheduleChooser {
  private let choices: [Int: Int]
  private var next = 0
  /// The first choice of more than there is, and how much there is.
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

/// Always the step of the most urgent subject; now and then the most urgent one becomes the least.
///
/// A subject whose task yields becomes the least urgent if another step has waited for too many
/// rounds: otherwise a body that polls would keep all others waiting.
///
/// Finds a bug that needs d orderings with a probability of at least 1/(n·k^(d-1)), n the number of
/// subjects and k that of steps. Burckhardt, Kothari, Musuvathi, Nagarakatte, “A randomized
/// scheduler with probabilistic guarantees of finding bugs”, ASPLOS 2010.
struct PriorityChooser: ScheduleChooser {
  private var generator: SplitMix64
  private var priorities: [UInt64: Int64] = [:]
  /// What the priority of the most urgent subject becomes at which choice.
  ///
  /// Which of two is the lower doesn't follow from which is the earlier: a bug may need either.
  private var changes: [Int: Int64] = [:]
  private var choiceCount = 0
  /// How many rounds a step may wait while a task yields.
  private let mostRounds: Int
  /// The last priority of a subject whose task has yielded.
  private var lastOfYields = Int64(-1_000)

  /// - Parameters:
  ///   - seed: Equal seeds make equal choices.
  ///   - length: About how many choices there will be.
  ///   - changeCount: How often the most urgent subject becomes the least.
  ///   - mostRounds: How many rounds a step may wait while a task yields.
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
      // A coin and no priority, or time could be the most urgent forever.
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

/// Another chooser, but for steps that may be taken at any time: each moment is equally likely for
/// such a step, counted in choices.
///
/// With a coin at each choice, a step that may come at any time would hardly ever come late.
struct EvenMomentsChooser: ScheduleChooser {
  private var chooser: any ScheduleChooser
  private var generator: SplitMix64
  /// How many choices there are until nothing else is left.
  private let length: Int
  /// How many choices to wait with each step that is pending.
  private var waits: [UInt64: Int] = [:]
  /// The number of choices at which such a step was pending and another candidate was chosen.
  private(set) var waitCount = 0

  /// - Parameters:
  ///   - chooser: The chooser for all other steps.
  ///   - seed: Equal seeds make equal choices.
  ///   - length: About how many choices there are until nothing else is left.
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

  /// The number of choices until nothing else was left; nil if a step didn't have to wait so long.
  var naturalLength: Int? { waits.values.contains { $0 > 0 } ? waitCount : nil }
}

/// A small generator of random numbers that gives the same sequence for the same seed everywhere.
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
  /// - Parameter seed: Equal seeds give equal sequences.
  package init(seed: UInt64) { state = seed }

  /// The next 64 bits.
  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// A number from 0 up to but not including a bound.
  mutating func next(below bound: UInt64) -> UInt64 {
    // The high half of the product is evenly spread but for a bias of bound/2^64.
    next().multipliedFullWidth(by: bound).high
  }
}
