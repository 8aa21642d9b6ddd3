import AdvancedOperations
import Logging
import OrderWorkflow
import ServiceLifecycle

/// Closes the desk when the program is to end.
struct DeskService: Service {
  let desk: OrderDesk
  let limit: Duration
  let logger: Logger
  /// Called when the desk is closed.
  let onClosed: @Sendable () -> Void

  /// Waits for the end, and drains the desk.
  ///
  /// A second signal, or a failure of another service, cancels this task: then there is no time for
  /// open orders. They are interrupted where they are, and taken up after the restart.
  func run() async throws {
    try? await gracefulShutdown()
    let count = desk.openCount
    logger.notice("closing", metadata: ["open": "\(count)", "limit": "\(limit)"])
    await desk.drain(within: Task.isCancelled ? .zero : limit)
    let interrupted = desk.interruptedCount
    logger.notice(
      "closed",
      metadata: ["finished": "\(max(count - interrupted, 0))", "interrupted": "\(interrupted)"]
    )
    onClosed()
  }
}
