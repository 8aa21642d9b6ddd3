// Cancel an operation with a reason. Each operation that needed its value reports the reason too.
//
//     swift run --package-path Samples/Examples cancel-with-error
//
// Prints:
//  the download has begun
//  remove the partial file
//  download has finished: cancelled
//    cancelled: The user has logged out.
//  store has finished without having run: failed
//    dependency “download”
//      cancelled: The user has logged out.
//  clean up has finished: succeeded

import AdvancedOperations

struct LoggedOut: Error, CustomStringConvertible {
  var description: String { "The user has logged out." }
}

let download = ResultOperation(name: "download") {
  print("the download has begun")
  // A cancel is a request, which cancels the task of the body. This sleep throws then, as
  // `URLSession` does. A loop that computes has to call `try Task.checkCancellation()`.
  try await OperationClock.current.sleep(for: .seconds(60))
  return "Chile 1960"
}

// Needs the value, so it doesn't run without it.
let store = download.then(name: "store") { text in print("store \(text)") }

// Only comes after the download, so it runs in any case. To run it only after a success, add
// `cleanUp.addCondition(.allSucceeded)`.
let cleanUp = ResultOperation(name: "clean up") { print("remove the partial file") }
cleanUp.addDependency(download)

let queue = AdvancedOperationQueue()
// The events are read from here on, so no event of the download is missed.
let events = download.events
queue.addOperations([download, store, cleanUp])

// The sequence ends when the download has ended.
for await case .started in events {
  download.cancel(withError: LoggedOut())
}

try await queue.untilAllOperationsAreFinished()
for operation in [download, store, cleanUp] as [AdvancedOperation] { print(operation.explain()) }
