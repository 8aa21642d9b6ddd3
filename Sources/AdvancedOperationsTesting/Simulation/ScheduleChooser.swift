/// Says which of several steps is next.
protocol ScheduleChooser: Sendable {
  /// - Parameters:
  ///   - count: How many steps there are; two or more.
  ///   - subject: Says what the step of an index is for. That of the last one may be
  ///     ``Choice/timeSubject``.
  /// - Returns: The index of one of them.
  mutating func choose(among count: Int, _ subject: (Int) -> String) -> Int

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
  mutating func interrupts() -> Bool { choose(among: 2) { _ in "" } == 1 }
  var wantsFingerprints: Bool { false }
  mutating func reached(_ state: Fingerprint) -> Bool { false }
  var misfit: String? { nil }
}

/// One choice that was made.
struct Choice: Equatable {
  /// What a choice between a step and moving time calls the latter; no step has this name.
  static let timeSubject = "\0time"

  var index: Int
  var count: Int
}

/// Any step, as a generator says.
struct SeededChooser: ScheduleChooser {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func choose(among count: Int, _ subject: (Int) -> String) -> Int {
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

  mutating func choose(among count: Int, _ subject: (Int) -> String) -> Int {
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
/// Finds a bug that needs d orderings with a probability of at least 1/(n·k^(d-1)), n the number of
/// subjects and k that of steps. Burckhardt, Kothari, Musuvathi, Nagarakatte, “A randomized
/// scheduler with probabilistic guarantees of finding bugs”, ASPLOS 2010.
struct PriorityChooser: ScheduleChooser {
  private var generator: SplitMix64
  private var priorities: [String: Int64] = [:]
  /// What the priority of the most urgent subject becomes at which choice.
  ///
  /// Which of two is the lower doesn't follow from which is the earlier: a bug may need either.
  private var changes: [Int: Int64] = [:]
  private var choiceCount = 0

  /// - Parameters:
  ///   - seed: Equal seeds make equal choices.
  ///   - length: About how many choices there will be.
  ///   - changeCount: How often the most urgent subject becomes the least.
  init(seed: UInt64, length: Int, changeCount: Int) {
    var generator = SplitMix64(seed: seed)
    for change in 0..<changeCount {
      changes[Int(clamping: generator.next(below: UInt64(max(1, length))))] = Int64(-1 - change)
    }
    self.generator = generator
  }

  mutating func choose(among count: Int, _ subject: (Int) -> String) -> Int {
    defer { choiceCount += 1 }
    var subjects = (0..<count).map(subject)
    if subjects.last == Choice.timeSubject {
      // A coin and no priority, or time could be the most urgent for ever.
      if generator.next(below: 2) == 0 { return subjects.count - 1 }
      subjects.removeLast()
    }
    for subject in subjects where priorities[subject] == nil {
      priorities[subject] = Int64(generator.next(below: 1 << 32))
    }
    var best = mostUrgent(among: subjects)
    if let lower = changes[choiceCount] {
      priorities[subjects[best]] = lower
      best = mostUrgent(among: subjects)
    }
    return best
  }

  mutating func interrupts() -> Bool { generator.next(below: 16) == 0 }

  private func mostUrgent(among subjects: [String]) -> Int {
    subjects.indices.max { priority(subjects[$0]) < priority(subjects[$1]) } ?? 0
  }

  private func priority(_ subject: String) -> Int64 { priorities[subject] ?? 0 }
}
