import CoreOperations

/// All ways through a tree of choices, one after the other.
///
/// Each run repeats the choices of the last one up to one that has an alternative, and takes that.
final class DepthFirstSearch: ScheduleChooser {
  private struct State {
    var path: [Choice] = []
    var depth = 0
    var seen: Set<Fingerprint> = []
    var isPruned = false
    var problem: ScheduleProblem?
  }

  /// How a run ended.
  enum End {
    /// It was a new one.
    case new
    /// It led to a state from which all was explored before.
    case pruned
    /// Something else happened than when the same choices were made before.
    case broken(ScheduleProblem)
  }

  private let state = Locked(State())
  let wantsFingerprints: Bool

  /// - Parameter prunes: Whether states that were reached before are left.
  init(prunes: Bool) { wantsFingerprints = prunes }

  func choose(among subjects: [String]) -> Int {
    withState { state in
      defer { state.depth += 1 }
      let count = subjects.count
      guard state.depth < state.path.count else {
        state.path.append(Choice(index: 0, count: count))
        return 0
      }
      let choice = state.path[state.depth]
      if choice.count != count, state.problem == nil {
        state.problem = .differs(choice: state.depth, was: choice.count, is: count)
      }
      return min(choice.index, count - 1)
    }
  }

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

  var end: End {
    withState { state in
      if let problem = state.problem { return .broken(problem) }
      return state.isPruned ? .pruned : .new
    }
  }

  /// Turns to the next way; returns whether there is one.
  func advance() -> Bool {
    withState { state in
      while let last = state.path.popLast() {
        if last.index + 1 < last.count {
          state.path.append(Choice(index: last.index + 1, count: last.count))
          return true
        }
      }
      return false
    }
  }

  private func withState<Result>(_ body: (inout State) -> Result) -> Result {
    state.withLock { body(&$0) }
  }
}
