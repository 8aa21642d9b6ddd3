import AdvancedOperations
import Logging
import OrderWorkflow
import ServiceLifecycle

/// Closes the desk when the program is to end.
struct DeskService: Service {
  let desk: OrderDesk
  let limit: Duration
  let logger: Logger
  /// Ends when open orders are to have no more time.
  let hurry: AsyncStream<Void>
  /// Called when the desk is closed.
  let onClosed: @Sendable () -> Void

  /// Waits for the end, and drains the desk.
  ///
  /// After a second signal there is no time for open orders, nor when a failure of another service
  /// cancels this task. They are interrupted where they are, and taken up after the restart.
  func run() async throws {
    try? await gracefulShutdown()
    let count = desk.openCount
    logger.notice("closing", metadata: ["open": "\(count)", "limit": "\(limit)"])
    await withTaskGroup { [desk, limit, hurry] group in
      group.addTask { await _ = desk.drain(within: Task.isCancelled ? .zero : limit) }
      group.addTask { for await _ in hurry {} }
      await group.next()
      group.cancelAll()
    }
    let interrupted = desk.interruptedCount
    logger.notice(
      "closed",
      metadata: ["finished": "\(max(count - interrupted, 0))", "interrupted": "\(interrupted)"]
    )
    onClosed()
  }
}
