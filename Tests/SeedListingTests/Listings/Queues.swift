// swift-format-ignore-file
// Listings stay as they were written.

// Document 003, “Operation Queues”: every function is one listing, as it stands there. Only the
// function around it and the `return` are ours.

import Foundation

import class CoreOperations.BlockOperation
import class CoreOperations.Operation
import class CoreOperations.OperationQueue

/// “Example: Adding Multiple Operations”.
func addingMultipleOperations() -> [Operation] {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    queue.qualityOfService = .userInitiated

    let operation1 = BlockOperation {
        print("Operation 1 on \(Thread.current)")
        Thread.sleep(forTimeInterval: 1)
    }
    operation1.queuePriority = .high

    let operation2 = BlockOperation {
        print("Operation 2 on \(Thread.current)")
        Thread.sleep(forTimeInterval: 0.5)
    }
    operation2.queuePriority = .normal

    queue.addOperations([operation1, operation2], waitUntilFinished: false)
    queue.addBarrierBlock {
        print("All operations complete")
    }

    return [operation1, operation2]
}

/// “Example: Chaining Operations with Dependencies”.
func chainingOperationsWithDependencies() {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2

    let downloadOp = BlockOperation {
        print("Downloading data on \(Thread.current)")
        Thread.sleep(forTimeInterval: 2)
    }
    let processOp = BlockOperation {
        print("Processing data on \(Thread.current)")
        Thread.sleep(forTimeInterval: 1)
    }
    let saveOp = BlockOperation {
        print("Saving data on \(Thread.current)")
        Thread.sleep(forTimeInterval: 0.5)
    }

    // Set dependencies
    processOp.addDependency(downloadOp)
    saveOp.addDependency(processOp)

    queue.addOperations([downloadOp, processOp, saveOp], waitUntilFinished: false)
    queue.addBarrierBlock {
        print("Workflow complete")
    }
}

// Stands in the listing below, which is a script there, so that its variables are globals. Of one
// that closures capture from a function and change, the compiler warns.
private var results: [Int] = []

/// “Example: Using DispatchGroup with OperationQueue”.
func usingDispatchGroupWithOperationQueue() {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 3
    let group = DispatchGroup()

    results = [] // Declared above.
    let lock = NSLock() // Ensure thread-safe array access

    for i in 1...5 {
        group.enter()
        let operation = BlockOperation {
            print("Processing task \(i) on \(Thread.current)")
            Thread.sleep(forTimeInterval: Double.random(in: 0.5...1.5))
            lock.withLock {
                results.append(i * 2)
            }
            group.leave()
        }
        queue.addOperation(operation)
    }

    group.notify(queue: .main) {
        print("All tasks complete: \(results.sorted())")
    }
}
