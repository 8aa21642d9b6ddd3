// swift-format-ignore-file
// Listings stay as they were written.

// Document 004: the class and its use, which stand there on one line each, as code. Ours are the
// line breaks, straight quotes, the space that had slipped into an interpolation, the addresses,
// the lines that were lost in print (marked), and the function around the use with its parameters.

import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

import class CoreOperations.Operation
import class CoreOperations.OperationQueue

class DownloadOperation : Operation {
   private var task : URLSessionDownloadTask!
   enum OperationState : Int {
      case ready
      case executing
      case finished
   }
   private var state : OperationState = .ready {
      willSet {
         self.willChangeValue(forKey: "isExecuting")
         self.willChangeValue(forKey: "isFinished")
      }
      didSet {
         self.didChangeValue(forKey: "isExecuting")
         self.didChangeValue(forKey: "isFinished")
      }
   }
   override var isReady: Bool { return state == .ready }
   override var isExecuting: Bool { return state == .executing }
   override var isFinished: Bool { return state == .finished }
   init(session: URLSession, downloadTaskURL: URL, completionHandler: ((URL?, URLResponse?, Error?) -> Void)?) {
      super.init()
      task = session.downloadTask(with: downloadTaskURL,   completionHandler: { [weak self] (url, response, error) in
      if let completionHandler = completionHandler {
      completionHandler(url, response, error) }
      self?.state = .finished })
   }
   override func start() {
      if(isCancelled) {
         state = .finished
         return
      }
      print("executing the task: \(self.task.originalRequest?.url?.absoluteString ?? "")")
      self.task.resume()
      state = .executing
   }
   override func cancel() {
      super.cancel()
      self.task.cancel()
   }
}

/// The use of the class: all at once, or one at a time, or the second after the first, as the text
/// says.
func downloads(_ addresses: [String], atOnce count: Int, secondDependsOnFirst: Bool = false) -> ([DownloadOperation], OperationQueue) {
let firstUrl = URL(string:addresses[0])!
let secondUrl = URL(string:addresses[1])!
let thirdUrl = URL(string:addresses[2])!
let queue = OperationQueue()
queue.maxConcurrentOperationCount = count
queue.name = "Image Download queue" // `queue.name` was lost.
let firstOperation = DownloadOperation(session: URLSession.shared, downloadTaskURL: firstUrl, completionHandler: { (localURL, response, error) in print("finished the task: \(firstUrl.absoluteString)")})
let secondOperation = DownloadOperation(session: URLSession.shared, downloadTaskURL: secondUrl, completionHandler: { (localURL, response, error) in
print("finished the task: \(secondUrl.absoluteString)")})
let thirdOperation = DownloadOperation(session: URLSession.shared, downloadTaskURL: thirdUrl, completionHandler: { (localURL, response, error) in
print("finished the task: \(secondUrl.absoluteString)")})
if secondDependsOnFirst { secondOperation.addDependency(firstOperation) } // Lost, see “Making Use of Dependencies”.
queue.addOperation(firstOperation)
queue.addOperation(secondOperation) // Lost.
queue.addOperation(thirdOperation) // Lost.
return ([firstOperation, secondOperation, thirdOperation], queue)
}
