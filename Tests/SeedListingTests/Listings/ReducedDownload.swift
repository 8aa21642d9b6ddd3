// swift-format-ignore-file
// Listings stay as they were written.

// The class of document 003, “Create an Asynchronous Operation”, without its network: the task is
// one that calls its handler when it was resumed or cancelled, whatever comes first.

import CoreOperations
import Dispatch

class ReducedDownloadOperation: Operation {
    private var imageData: String?
    private var _executing = false
    private var _finished = false
    private var task: ReducedTask?

    override var isAsynchronous: Bool { true }

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

    override func start() {
        guard !isCancelled else {
            isFinished = true
            return
        }
        isExecuting = true
        task = ReducedTask { [weak self] data, error in
            defer {
                self?.isExecuting = false
                self?.isFinished = true
            }
            guard let self = self, !self.isCancelled else {
                return
            }
            if error != nil {
                return
            }
            self.imageData = data
        }
        task?.resume()
    }

    override func cancel() {
        super.cancel()
        task?.cancel()
        isExecuting = false
        isFinished = true
    }

    func getImageData() -> String? { imageData }
}

/// Calls its handler once: after it was resumed or when it was cancelled, on another thread.
final class ReducedTask: Sendable {
    struct Cancelled: Error {}

    typealias Handler = (String?, Error?) -> Void

    private let handler: Locked<Handler?>

    init(_ handler: @escaping Handler) { self.handler = Locked(handler) }

    func resume() { call("contents", nil) }
    func cancel() { call(nil, Cancelled()) }

    private func call(_ data: String?, _ error: Error?) {
        DispatchQueue.global().async {
            let handler = self.handler.withLock { $0.take() }
            handler?(data, error)
        }
    }
}
