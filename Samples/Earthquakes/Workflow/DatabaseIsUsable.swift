import AdvancedOperations

/// Holds when the database is ours, or is still to be created in a folder that is there.
///
/// Asked before anything is downloaded: nobody likes to wait for a download and then learn that it
/// can't be stored. Where another process has the database to itself, this takes up to five seconds
/// of a worker's time, and no other operation waits for that worker.
struct DatabaseIsUsable: ImmediateCondition {
  let database: DatabaseAccess

  var name: String { "database is usable" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    do {
      _ = try database.openIfPresent()
      return .satisfied
    } catch {
      return .failed(error)
    }
  }
}
