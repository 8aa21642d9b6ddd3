// Give up on an operation that takes too long, and continue with another value.
//
//     swift run --package-path Samples/Examples timeout
//
// Prints:
//  fetch took too long: The time limit of 50 ms was exceeded.
//  1 € = 1.08 $ (yesterday)

import AdvancedOperations

let fetch = ResultOperation(name: "fetch") {
  // Stands for a server that doesn't answer. A time limit cancels the task of the body, and the
  // operation ends when the body reacts to that, as this sleep does.
  try await OperationClock.current.sleep(for: .seconds(3600))
  return "1 € = 1.09 $"
}

// Limits the work. With `of: .all`, it limits the time since the operation was added to a queue.
fetch.addObserver(TimeoutObserver(.milliseconds(50)))

// Has the value of `fetch`, or the value that the closure makes of the failure.
let rate = fetch.recover(name: "rate") { failure in
  // Every other failure remains a failure.
  guard failure.isTimeout else { throw failure }
  print("fetch took too long: \(failure.first(OperationTimeout.self)?.description ?? "")")
  return "1 € = 1.08 $ (yesterday)"
}

let queue = AdvancedOperationQueue()
do {
  print(try await queue.run(rate))
} catch let failure as OperationFailure {
  print("no rate:\n\(failure)")
}
