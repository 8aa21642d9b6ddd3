import CoreOperations
import Dispatch
import Synchronization
import TestSupport

extension CoreStress {
  /// Ends the process when a run hangs, with a text that says which and how it stands.
  final class Watchdog: Sendable {
    private let isOver = Atomic(false)

    /// - Parameters:
    ///   - seconds: Until it strikes when the process stands still; ten times as long in the
    ///     sanitized run, and where the process computes something else.
    ///   - report: Says what hangs.
    init(seconds: Int = 300, _ report: @escaping @Sendable () -> String) {
      #if SANITIZE_THREAD
      let seconds = seconds * 10
      #endif
      CoreStress.launch { [weak self] in
        let never = DispatchSemaphore(value: 0)
        var patience = Patience(seconds: seconds)
        while !patience.looked() {
          _ = never.wait(timeout: .now() + .milliseconds(100))
          guard let self, !self.isOver.load(ordering: .acquiring) else { return }
        }
        fatalError("It hangs: \(report())")
      }
    }

    func end() { isOver.store(true, ordering: .releasing) }
  }
}
