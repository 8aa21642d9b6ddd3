// Find out why an operation isn't running, down to the root cause.
//
//     swift run --package-path Samples/Examples explain
//
// Prints:
//  report waits for store
//    store waits for “database”, which backup holds
//    backup has code that waits for approval
//    approval isn't in a queue
//  needed: approval has to be added to a queue
//  backup, approved by Ada
//  report: 2 events

import AdvancedOperations

let approval = ResultOperation(name: "approval") { "by Ada" }

let backup = ResultOperation(name: "backup") {
  // The mistake: `value` waits, but doesn't add the operation to a queue.
  print("backup, approved \(try await approval.value)")
}
backup.addClaim(MutuallyExclusive("database"))

let store = ResultOperation(name: "store") { ["Valdivia", "Anchorage"] }
store.addClaim(MutuallyExclusive("database"))
let report = store.then(name: "report") { events in "\(events.count) events" }

let queue = AdvancedOperationQueue()
// Adds `store` when `backup` has the claim, so that the output is the same each time.
backup.onStart { _ in queue.addOperations([store, report]) }
queue.addOperation(backup)

// Without this task, the program would wait for `report.value` forever. It is detached because a
// program may block the main actor. `queue.explain()` explains all operations of a queue.
Task.detached {
  try await Task.sleep(for: .seconds(1))
  print(report.explain())
  queue.addOperation(approval)
}

print("report: \(try await report.value)")
