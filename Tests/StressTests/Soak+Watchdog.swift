import AdvancedOperations
import AdvancedTestSupport
import Dispatch
import TestSupport

extension Soak {
  /// Ends the process when a program takes far too long, with all that is known about it.
  ///
  /// It looks at progress: each program has the same time.
  final class Watchdog: Sendable {
    private struct State {
      var program: Program?
      var patience = Patience(seconds: Watchdog.seconds)
      var isOver = false
    }

    /// For how long one program may run; `OPERATIONS_SOAK_PATIENCE` says otherwise.
    #if SANITIZE_THREAD
    fileprivate static let seconds = Effort.number("OPERATIONS_SOAK_PATIENCE") ?? 1_200
    #else
    fileprivate static let seconds = Effort.number("OPERATIONS_SOAK_PATIENCE") ?? 120
    #endif

    private let state = Locked(State())

    init() {
      CoreStress.launch { [self] in
        let never = DispatchSemaphore(value: 0)
        while true {
          _ = never.wait(timeout: .now() + .milliseconds(100))
          let (isOver, program) = state.withLock { state in
            (state.isOver, state.patience.looked() ? state.program : nil)
          }
          if isOver { return }
          if let program { fatalError("It hangs: \(Self.report(program))") }
        }
      }
    }

    /// The next program begins.
    func watch(_ program: Program) { set(program) }

    func end() {
      set(nil)
      state.withLock { $0.isOver = true }
    }

    private func set(_ program: Program?) {
      let old = state.withLock { state in
        defer { state.program = program }
        state.patience.reset()
        return state.program
      }
      withExtendedLifetime(old) {}
    }

    /// What hangs may be a lock that a text needs, so that is not waited for for long.
    private static func report(_ program: Program) -> String {
      let text = Locked("seed \(program.seed); no more is known: a lock seems to be held")
      let isDone = DispatchSemaphore(value: 0)
      CoreStress.launch {
        let queues = program.queues.map { "\n\($0.explain())" }.joined()
        let report = program.report + queues
        text.withLock { $0 = report }
        isDone.signal()
      }
      _ = isDone.wait(timeout: .now() + .seconds(5))
      return text.withLock { $0 }
    }
  }
}
