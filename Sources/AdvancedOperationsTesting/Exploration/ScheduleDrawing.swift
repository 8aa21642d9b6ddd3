import CoreOperations

/// A way to draw random schedules if there are too many schedules to try all.
package enum ScheduleDrawing: Sendable, Hashable {
  /// A choice takes any of the steps.
  case steps
  /// A choice takes the step of the operation or queue with the highest random priority.
  ///
  /// The priorities change this number of times.
  ///
  /// A task that yields becomes the least urgent if another step has waited for `mostRounds` rounds. With
  /// zero rounds, schedules find bugs that need another operation at an `await`. With more rounds, they find
  /// bugs that need an operation to be far behind.
  case priorities(changes: Int, mostRounds: Int)

  /// Returns the usual way to draw the schedule with a number.
  ///
  /// The ways alternate, because each of them misses bugs that another way finds. For example, only
  /// priorities that a yield doesn't change find a set-up that is too late. The test of drawn schedules
  /// measures the ways, and the article on exploring has the table.
  static func usual(_ number: Int) -> ScheduleDrawing {
    if number % 2 == 0 { return .steps }
    return .priorities(changes: 1 + number / 4 % 3, mostRounds: number % 4 == 1 ? 32 : 0)
  }

  /// Returns a chooser for a schedule that is drawn in the usual way.
  static func usualChooser(seed: UInt64, _ drawn: Schedule.Drawn) -> EvenMomentsChooser {
    let seed = seed &+ UInt64(drawn.number)
    let chooser = usual(drawn.number).chooser(seed: seed, length: drawn.length)
    return EvenMomentsChooser(chooser, seed: seed, length: drawn.evenLength)
  }

  /// Returns a chooser for one schedule.
  ///
  /// - Parameters:
  ///   - seed: The seed; equal seeds draw equal schedules.
  ///   - length: The expected number of choices.
  /// - Returns: The chooser.
  func chooser(seed: UInt64, length: Int) -> any ScheduleChooser {
    switch self {
    case .steps: SeededChooser(seed: seed)
    case .priorities(let changes, let mostRounds):
      PriorityChooser(
        seed: seed,
        length: length,
        changeCount: changes,
        mostRounds: mostRounds
      )
    }
  }
}

/// A chooser that takes all paths through a tree of choices, one after the other.
///
/// Each run repeats the choices of the last run up to a choice with an untried alternative, and takes this
/// alternative.
///
/// A workflow that polls has an unlimited number of paths, because it may poll any number of times before
/// another step. Therefore a step that was passed over for ``mostRounds`` rounds has to be taken. The search
/// takes all paths up to this bound, and ``isBounded`` indicates that there are more.
final class DepthFirstSearch: ScheduleChooser {
  /// A choice, and the fingerprint of the log before the choice.
  private struct Place {
    var choice: Choice
    /// The candidates that may be taken; nil for all.
    var fair: [Int]?
    var log: Fingerprint

    /// The next candidate to try; nil after the last candidate.
    var next: Int? {
      guard let fair else { return choice.index + 1 < choice.count ? choice.index + 1 : nil }
      return fair.first { $0 > choice.index }
    }
  }

  /// The number of rounds after which a pending step has to be taken.
  ///
  /// In a round, a task yields or time moves.
  static let mostRounds = 32

  private struct State {
    var path: [Place] = []
    /// The fingerprint of the log before the next choice.
    var log = Fingerprint()
    var depth = 0
    var seen: Set<Fingerprint> = []
    var isPruned = false
    var isBroken = false
    var isBounded = false
  }

  /// The result of a run.
  enum End {
    /// The run took a new path.
    case new
    /// The run reached a state from which everything has been explored.
    case pruned
    /// The run differs from an earlier run with the same choices.
    case broken
  }

  private let state = Locked(State())
  let wantsFingerprints: Bool

  /// - Parameter prunes: Whether a run ends at a state that an earlier run has reached.
  init(prunes: Bool) { wantsFingerprints = prunes }

  /// Whether the search has omitted paths, because steps that were passed over for too many rounds had to be
  /// taken.
  var isBounded: Bool { withState { $0.isBounded } }

  /// Returns the candidates that were passed over for too long; nil if these are none or all.
  private static func overdue(_ count: Int, _ candidate: (Int) -> Candidate) -> [Int]? {
    let overdue = (0..<count).filter { candidate($0).age >= mostRounds }
    return overdue.isEmpty || overdue.count == count ? nil : overdue
  }

  func choose(among count: Int, _ candidate: (Int) -> Candidate) -> Int {
    withState { state in
      defer { state.depth += 1 }
      guard state.depth < state.path.count else {
        let fair = Self.overdue(count, candidate)
        if fair != nil { state.isBounded = true }
        let first = fair?.first ?? 0
        let choice = Choice(index: first, count: count)
        state.path.append(Place(choice: choice, fair: fair, log: state.log))
        return first
      }
      let (choice, log) = (state.path[state.depth].choice, state.path[state.depth].log)
      if choice.count != count || log != state.log { state.isBroken = true }
      return min(choice.index, count - 1)
    }
  }

  func willChoose(after log: Fingerprint) { withState { $0.log = log } }

  func reached(_ fingerprint: Fingerprint) -> Bool {
    withState { state in
      // The run still repeats choices of the last run.
      guard state.depth >= state.path.count else { return false }
      if state.seen.insert(fingerprint).inserted { return false }
      state.isPruned = true
      return true
    }
  }

  func begin() {
    withState { state in
      state.depth = 0
      state.isPruned = false
    }
  }

  /// The choices that the next run repeats, before it takes the first step at each further choice.
  var plan: [Choice] { withState { $0.path.map(\.choice) } }

  var end: End {
    withState { state in
      if state.isBroken || state.depth < state.path.count { return .broken }
      return state.isPruned ? .pruned : .new
    }
  }

  /// Moves to the next path; returns false if there is none.
  func advance() -> Bool {
    withState { state in
      while var last = state.path.popLast() {
        guard let next = last.next else { continue }
        last.choice.index = next
        state.path.append(last)
        return true
      }
      return false
    }
  }

  private func withState<Result>(_ body: (inout State) -> Result) -> Result {
    state.withLock { body(&$0) }
  }
}
