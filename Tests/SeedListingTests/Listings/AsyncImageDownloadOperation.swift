// swift-format-ignore-file
// Listings stay as they were written.

// Document 003, “Create an Asynchronous Operation”: the class and both uses, as they stand there.
// Ours are the functions around the uses with their `return`, the addresses, and the timer.

import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

import class CoreOperations.BlockOperation
import class CoreOperations.Operation
import class CoreOperations.OperationQueue

class AsyncImageDownloadOperation: Operation {
    private let url: URL
    private var imageData: Data?
    private var _executing = false
    private var _finished = false
    private var task: URLSessionDataTask?

    init(url: URL) {
        self.url = url
        super.init()
    }

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
        print("Starting download for \(url) on \(Thread.current)")
        task = URLSession.shared.dataTask(with: url) { [weak self] data, response, error in
            defer {
                self?.isExecuting = false
                self?.isFinished = true
            }
            guard let self = self, !self.isCancelled else {
                print("Download cancelled for \(self?.url.absoluteString ?? "")")
                return
            }
            if let error = error {
                print("Download failed: \(error)")
                return
            }
            self.imageData = data
            print("Download complete for \(self.url)")
        }
        task?.resume()
    }

    override func cancel() {
        super.cancel()
        task?.cancel()
        isExecuting = false
        isFinished = true
        print("Cancelled download for \(url)")
    }

    func getImageData() -> Data? { imageData }
}

/// “Usage with OperationQueue”.
func usageWithOperationQueue(_ address: String) -> (AsyncImageDownloadOperation, OperationQueue) {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2

    let url = URL(string: address)!
    let downloadOp = AsyncImageDownloadOperation(url: url)
    downloadOp.completionBlock = {
        if let data = downloadOp.getImageData() {
            print("Downloaded image with size: \(data.count) bytes")
        }
    }
    queue.addOperation(downloadOp)

    // Cancel after 1 second
    Stage.current.asyncAfter(1) {
        downloadOp.cancel()
    }

    return (downloadOp, queue)
}

/// “Example: Chaining Asynchronous Operations”.
func chainingAsynchronousOperations(_ address: String) -> (AsyncImageDownloadOperation, OperationQueue) {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2

    let downloadOp = AsyncImageDownloadOperation(url: URL(string: address)!)
    let processOp = BlockOperation {
        guard !downloadOp.isCancelled, let data = downloadOp.getImageData() else {
            print("Processing cancelled or no data")
            return
        }
        print("Processing image with size \(data.count) on \(Thread.current)")
        Thread.sleep(forTimeInterval: 1) // Simulate processing
    }
    processOp.addDependency(downloadOp)

    queue.addOperations([downloadOp, processOp], waitUntilFinished: false)
    queue.addBarrierBlock {
        print("Image workflow complete")
    }

    return (downloadOp, queue)
}
