import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Synchronization
import Testing

@Test func `Thread safety: one observer for operations that end at the same time`() async throws {
  let print = Lines()

  final class Tally: OperationObserver {
    private let counts = Mutex<[String: Int]>([:])

    var text: String {
      let sorted = counts.withLock { $0 }.sorted { $0.key < $1.key }
      return sorted.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      let word =
        switch outcome {
        case .succeeded: "succeeded"
        case .cancelled: "cancelled"
        case .failed: "failed"
        case .skipped: "skipped"
        }
      counts.withLock { $0[word, default: 0] += 1 }
    }
  }

  let queue = AdvancedOperationQueue()
  let tally = Tally()
  queue.addObserver(tally)

  await withTaskGroup { group in
    for number in 1...100 {
      group.addTask {
        let operation = ResultOperation(name: "\(number)") {}
        if number.isMultiple(of: 4) { operation.cancel() }
        queue.addOperation(operation)
      }
    }
  }
  try await queue.untilAllOperationsAreFinished()
  print(tally.text)

  try expectShown(print, in: "ThreadSafety")
}

@Test func `Thread safety: a class of your own protects what changes`() async throws {
  final class Import: AdvancedOperation, @unchecked Sendable {
    // Sendable: `rows` doesn't change, and `done` has a lock.
    let rows: [String]
    private let done = Mutex(0)

    init(_ rows: [String]) {
      self.rows = rows
      super.init()
    }

    var doneCount: Int { done.withLock { $0 } }

    override func execute() {
      for _ in rows { done.withLock { $0 += 1 } }
      finish()
    }
  }

  let queue = AdvancedOperationQueue()
  let importing = Import(["Chile 1960", "Alaska 1964"])
  queue.addOperation(importing)
  try await importing.untilFinished()
  #expect(importing.doneCount == 2)
}

@Test func `Thread safety: dependents see the effects of an operation`() async throws {
  final class Box: @unchecked Sendable {
    // Sendable: written by one operation, and read by one that depends on it.
    var text = ""
  }
  let queue = AdvancedOperationQueue()
  let box = Box()
  let write = ResultOperation(name: "write") { box.text = "written" }
  let read = ResultOperation(name: "read") { box.text }
  read.addDependency(write)
  #expect(try await queue.run(read) == "written")
}

@Test func `Thread safety: callbacks may call every method`() {
  let operation = ResultOperation(name: "outer") {}
  let other = ResultOperation(name: "other") {}
  operation.onStart { operation in
    operation.addObserver(LogObserver { _ in })
    other.addDependency(operation)
    _ = operation.explain()
    operation.cancel()
  }
  simulate(operation)
  #expect(operation.ending == "cancelled")
  #expect(other.dependencies == [operation])
}
