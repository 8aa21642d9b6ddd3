import CoreOperations

/// How a schedule is drawn where there are too many to go through.
package enum ScheduleDrawing: Sendable, Hashable {
  /// Any step, each time.
  case steps
  /// By random priorities of operations and queues, which change this often.
  ///
  /// A task that yields becomes the least urgent if another step has waited for `mostRounds` rounds.
  /// Zero finds bugs that need another operation at an `await`; more finds bugs that need an
  /// operation to be far behind.
  case priorities(changes: Int, mostRounds: Int)

  /// What the schedule with this number is drawn by unless something else is asked for.
  ///
  /// A mixture, because each way misses a bug that another finds: only priorities that a yield
  /// doesn't change show a set-up that is too late. The test of drawn schedules measures it, and the
  /// article on exploring has the table.
  static func usual(_ number: Int) -> ScheduleDrawing {
    if number % 2 == 0 { return .steps }
    return .priorities(changes: 1 + number / 4 % 3, mostRounds: number % 4 == 1 ? 32 : 0)
  }

  /// Makes the choices of a schedule that is drawn in the usual way.
  static func usualChooser(seed: UInt64, _ drawn: Schedule.Drawn) -> EvenMomentsChooser {
    let seed = seed &+ UInt64(drawn.number)
    let chooser = usual(drawn.number).chooser(seed: seed, length: drawn.length)
    return EvenMomentsChooser(chooser, seed: seed, length: drawn.evenLength)
  }

  /// Makes the choices of one schedule.
  ///
  /// - Parameters:
  ///   - seed: Equal seeds draw equal schedules.
  ///   - length: About how many choices there will be.
  /// - Returns: Who makes them.
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

/// All ways through a tree of choices, one after the other.
///
/// Each run repeats the choices of the last one up to one that has an alternative, and takes that.
///
/// A workflow that polls has more ways than can be counted, because it may poll any number of times
/// before something else happens. So a step that was passed over for ``mostRounds`` rounds has to
/// be taken: all ways up to there are gone through, and ``isBounded`` says that there are more.
final class DepthFirstSearch: ScheduleChooser {
  /// A choice, and the log until then.
  private struct Place {
    var choice: Choice
    /// The candidates that may be taken; nil for all.
    var fair: [Int]?
    var log: Fingerprint

    /// The candidate after the one that was taken; nil after the last.
    var next: Int? {
      guard let fair else { return choice.index + 1 < choice.count ? choice.index + 1 : nil }
      return fair.first { $0 > choice.index }
    }
  }

  /// How many times tasks may yield, or time may move, while a step could be taken and isn't.
  static let mostRounds = 32

  private struct State {
    var path: [Place] = []
    /// The log until the next choice.
    var log = Fingerprint()
    var depth = 0
    var seen: Set<Fingerprint> = []
    var isPruned = false
    var isBroken = false
    var isBounded = false
  }

  /// How a run ended.
  enum End {
    /// It was a new one.
    case new
    /// It led to a state from which all was explored before.
    case pruned
    /// Something else happened than when the same choices were made before.
    case broken
  }

  private let state = Locked(State())
  let wantsFingerprints: Bool

  /// - Parameter prunes: Whether states that were reached before are left.
  init(prunes: Bool) { wantsFingerprints = prunes }

  /// Whether steps had to be taken because others had passed them over for too many rounds, so that
  /// there are more ways than those which were gone through.
  var isBounded: Bool { withState { $0.isBounded } }

  /// Returns the candidates that were passed over for too long; nil if none was.
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
      // On the way to where this run differs from the last.
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

  /// The choices that the next run makes before it takes the first step each time.
  var plan: [Choice] { withState { $0.path.map(\.choice) } }

  var end: End {
    withState { state in
      if state.isBroken || state.depth < state.path.count { return .broken }
      return state.isPruned ? .pruned : .new
    }
  }

  /// Turns to the next way; returns whether there is one.
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
