import AdvancedOperations
import EarthquakeKit

/// Holds unless storing went wrong and there are no older events either.
///
/// An empty report under a failure would only distract from it.
struct SomethingToReport: ImmediateCondition {
  let store: ResultOperation<StoreSummary>
  let database: DatabaseAccess

  var name: String { "something to report" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    guard store.outcome?.failure != nil else { return .satisfied }
    do {
      let count = try database.openIfPresent()?.count() ?? 0
      return count > 0 ? .satisfied : .skipped(reason: "the database holds nothing")
    } catch {
      // A report is an addition to the failure of the others, so this is no failure of its own.
      return .skipped(reason: "the database can't be read")
    }
  }
}
