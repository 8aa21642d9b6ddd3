// swift-format-ignore-file
// Listings stay as they were written.

// Document 003, “Custom Operations”, “Example: Synchronous Custom Operation”.

import Foundation

import class CoreOperations.Operation

class DataTransformOperation: Operation {
    private let input: [Int]
    private var output: [Int]?
    private var _executing = false
    private var _finished = false

    init(input: [Int]) {
        self.input = input
        super.init()
    }

    override var isExecuting: Bool {
        get { _executing }
        set {
            willChangeValue(forKey: "isExecuting")
            _executing = newValue
            didChangeValue(forKey: "isExecuting")
        }
    }

    override var isFinished: Bool {
        get { _finished }
        set {
            willChangeValue(forKey: "isFinished")
            _finished = newValue
            didChangeValue(forKey: "isFinished")
        }
    }

    override func main() {
        guard !isCancelled else {
            isFinished = true
            return
        }
        isExecuting = true
        print("Transforming \(input.count) items on \(Thread.current)")
        output = input.map { $0 * 2 }
        Thread.sleep(forTimeInterval: 1) // Simulate work
        if isCancelled {
            output = nil
            print("Operation cancelled")
        } else {
            print("Transformed: \(output?.prefix(5) ?? [])")
        }
        isExecuting = false
        isFinished = true
    }

    func getOutput() -> [Int]? { output }
}
