// Show what all operations of a queue are doing.
//
//     swift run --package-path Samples/Examples observer
//
// Prints:
//  import: started
//  import: 50 %
//  import: 100 %
//  import: succeeded
//  check: started
//  check: failed
//    Line 7 has no date.

import AdvancedOperations

struct Malformed: Error, CustomStringConvertible {
  let line: Int
  var description: String { "Line \(line) has no date." }
}

// Every method of the protocol has a default that does nothing, so write only those that you need.
// The calls for one operation come one after the other.
struct StatusLines: OperationObserver {
  func operationDidStart(_ operation: AdvancedOperation) {
    show("started", operation)
  }

  func operation(_ operation: AdvancedOperation, didUpdateProgress progress: OperationProgress) {
    show("\(Int(progress.fractionCompleted * 100)) %", operation)
  }

  func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    show("\(outcome)", operation)
  }

  private func show(_ text: String, _ operation: AdvancedOperation) {
    print("\(operation.name ?? "an operation"): \(text)")
  }
}

let queue = AdvancedOperationQueue()
// Attaches the observer to each operation that is added from now on.
queue.addObserver(StatusLines())

let files = ["2024.csv", "2025.csv"]
let importing = ResultOperation(name: "import") {
  for number in 1...files.count {
    // In a body, `current` is the operation that the body belongs to.
    AdvancedOperation.current?.updateProgress(completed: Int64(number), total: Int64(files.count))
  }
}
let check = importing.then(name: "check") { throw Malformed(line: 7) }

queue.addOperations([importing, check])
try await queue.untilAllOperationsAreFinished()
