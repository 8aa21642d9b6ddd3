import CoreOperations

/// All ways through a tree of choices, one after the other.
///
/// Each run repeats the choices of the last one up to one that has an alternative, and takes that.
final class DepthFirstSearch: ScheduleChooser {
  /// A choice, and the log until then.
  private struct Place {
    var choice: Choice
    var log: Fingerprint
  }

  private struct State {
    var path: [Place] = []
    /// The log until the next choice.
    var log = Fingerprint()
    var depth = 0
    var seen: Set<Fingerprint> = []
    var isPruned = false
    var isBroken = false
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

  func choose(among count: Int, _ subject: (Int) -> String) -> Int {
    withState { state in
      defer { state.depth += 1 }
      guard state.depth < state.path.count else {
        state.path.append(Place(choice: Choice(index: 0, count: count), log: state.log))
        return 0
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

  var end: End {
    withState { state in
      if state.isBroken || state.depth < state.path.count { return .broken }
      return state.isPruned ? .pruned : .new
    }
  }

  /// Turns to the next way; returns whether there is one.
  func advance() -> Bool {
    withState { state in
      while let last = state.path.popLast() {
        guard last.choice.index + 1 < last.choice.count else { continue }
        let next = Choice(index: last.choice.index + 1, count: last.choice.count)
        state.path.append(Place(choice: next, log: last.log))
        return true
      }
      return false
    }
  }

  private func withState<Result>(_ body: (inout State) -> Result) -> Result {
    state.withLock { body(&$0) }
  }
}
