import CoreOperations
import Dispatch

/// What a listing meets instead of the world: what it prints is kept, and what it sleeps is time
/// that passes only when the test says so.
///
/// The time is made up, so sleepers wake in the order in which the text says they do, and nobody
/// waits for a clock.
final class Stage: Sendable {
  /// What there is to see at one moment.
  struct Scene: Sendable {
    /// What was printed, in order.
    var lines: [String] = []
    /// How many threads sleep.
    var asleep = 0
  }

  private struct Timer {
    let time: Double
    let isSleeper: Bool
    let fire: @Sendable () -> Void
  }

  private struct Spectator {
    let isContent: @Sendable (Scene) -> Bool
    let wake: @Sendable () -> Void
  }

  private struct State {
    var scene = Scene()
    var now = 0.0
    var timers: [Timer] = []
    var spectators: [Spectator] = []

    /// Takes those who have seen what they waited for.
    mutating func content() -> [Spectator] {
      let scene = scene
      let content = spectators.filter { $0.isContent(scene) }
      spectators.removeAll { $0.isContent(scene) }
      return content
    }
  }

  /// The stage of the test that runs: listings run one at a time, on threads of all kinds.
  static var current: Stage {
    get { shown.withLock { $0 } }
    set { shown.withLock { $0 = newValue } }
  }

  private static let shown = Locked(Stage())
  private let state = Locked(State())

  var lines: [String] { state.withLock { $0.scene.lines } }

  // MARK: For listings

  func print(_ line: String) {
    change { $0.scene.lines.append(line) }
  }

  /// Blocks the thread until the time has come.
  func sleep(for seconds: Double) {
    let alarm = DispatchSemaphore(value: 0)
    change { state in
      state.timers.append(
        Timer(time: state.now + seconds, isSleeper: true) { alarm.signal() }
      )
      state.scene.asleep += 1
    }
    alarm.wait()
  }

  /// Does something when the time has come.
  func asyncAfter(_ seconds: Double, _ action: @escaping @Sendable () -> Void) {
    change { state in
      state.timers.append(
        Timer(time: state.now + seconds, isSleeper: false, fire: action)
      )
    }
  }

  // MARK: For tests

  /// Suspends the task until there is something to see.
  func until(_ isContent: @escaping @Sendable (Scene) -> Bool) async {
    await withCheckedContinuation { continuation in
      change { state in
        state.spectators.append(Spectator(isContent: isContent) { continuation.resume() })
      }
    }
  }

  /// Suspends the task until so many lines were printed, and returns all.
  func printed(_ count: Int) async -> [String] {
    await until { $0.lines.count >= count }
    return lines
  }

  /// Suspends the task until so many threads sleep at the same time.
  func asleep(_ count: Int) async {
    await until { $0.asleep == count }
  }

  /// Lets time pass until the next thread wakes or the next action is due.
  func passTime() {
    let due = state.withLock { state -> Timer? in
      guard
        let first = state.timers.indices.min(by: { state.timers[$0].time < state.timers[$1].time })
      else { return nil }
      let due = state.timers.remove(at: first)
      state.now = due.time
      if due.isSleeper { state.scene.asleep -= 1 }
      return due
    }
    due?.fire()
  }

  private func change(_ body: (inout State) -> Void) {
    let content = state.withLock { state in
      body(&state)
      return state.content()
    }
    for spectator in content { spectator.wake() }
  }
}
