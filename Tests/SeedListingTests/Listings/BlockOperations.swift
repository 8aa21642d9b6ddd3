// swift-format-ignore-file
// Listings stay as they were written.

// Document 003, “Operations State” and “BlockOperation”: every function is one listing, as it
// stands there. Only the function around it and the `return` are ours.

import Foundation

import class CoreOperations.BlockOperation
import class CoreOperations.Operation
import class CoreOperations.OperationQueue

/// “Example: Observing Operation State”.
func observingOperationState() {
    let operation = BlockOperation {
        print("Operation running")
    }
    operation.completionBlock = {
        print("Operation finished: isFinished=\(operation.isFinished), isCancelled=\(operation.isCancelled)")
    }
    print("Initial state: isReady=\(operation.isReady), isExecuting=\(operation.isExecuting)")
    operation.start()
}

/// “Example: Basic BlockOperation”.
func basicBlockOperation() {
    let blockOperation = BlockOperation {
        print("Executing block 1 on \(Thread.current)")
        Thread.sleep(forTimeInterval: 1)
    }
    blockOperation.addExecutionBlock {
        print("Executing block 2 on \(Thread.current)")
        Thread.sleep(forTimeInterval: 0.5)
    }
    blockOperation.completionBlock = {
        print("Block operation completed")
    }
    blockOperation.start()
}

/// “Example: Concurrent BlockOperation in OperationQueue”.
func concurrentBlockOperation() -> Operation {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 3

    let blockOperation = BlockOperation()
    for i in 1...3 {
        blockOperation.addExecutionBlock {
            print("Block \(i) started on \(Thread.current)")
            Thread.sleep(forTimeInterval: Double.random(in: 0.5...1.5))
            print("Block \(i) completed")
        }
    }
    blockOperation.completionBlock = {
        print("All blocks finished")
    }
    queue.addOperation(blockOperation)

    return blockOperation
}
