import Logging
import OrderWorkflow

/// Says in the log when orders begin to wait for the store, and when they don't any more.
///
/// It looks once a second: a call that is repeated at once is no news, and neither is each of those
/// that thousands of orders make.
struct StoreWatch {
  let desk: OrderDesk
  let logger: Logger

  /// Looks until its task is cancelled.
  func run() async throws {
    var isFailing = false
    while true {
      try await Task.sleep(for: .seconds(1))
      let reason = desk.storeTrouble
      if (reason != nil) == isFailing { continue }
      isFailing.toggle()
      if let reason {
        logger.warning("the store fails, and orders wait for it", metadata: ["error": "\(reason)"])
      } else {
        logger.notice("the store works again")
      }
    }
  }
}
