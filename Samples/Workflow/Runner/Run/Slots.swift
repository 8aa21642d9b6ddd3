import AdvancedOperations
import Synchronization

/// Gives the slots of steps that only wait for the disk to others.
///
/// A step has its slot until its end is in the journal, and a disk takes milliseconds for that, in
/// which a processor could run the next command. So there is a slot more for each step that is
/// being recorded; and as more of them wait for the disk at the same time, it is asked once for all
/// of them.
final class Slots: Sendable {
  /// More of them wait when the disk stands still, and each would have to run again if the runner
  /// were killed then.
  private static let mostRecording = 32

  private struct State {
    var recording = 0
    var isSetting = false
    var isNew = false
  }

  private let jobs: Int
  private let state = Mutex(State())

  init(jobs: Int) { self.jobs = jobs }

  /// The command of a step has ended.
  func recordingBegins(in group: GroupOperation) { change(by: 1, group) }

  /// The step is over, or all but.
  func recordingEnds(in group: GroupOperation) { change(by: -1, group) }

  private func change(by difference: Int, _ group: GroupOperation) {
    let isTaken = state.withLock { state in
      state.recording += difference
      state.isNew = true
      defer { state.isSetting = true }
      return state.isSetting
    }
    if isTaken { return }
    while let limit = next() { group.maxConcurrentOperationCount = limit }
  }

  private func next() -> Int? {
    state.withLock { state in
      state.isSetting = state.isNew
      defer { state.isNew = false }
      return state.isNew ? jobs + min(state.recording, Self.mostRecording) : nil
    }
  }
}
