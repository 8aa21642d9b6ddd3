// Try again what may succeed the next time, and give up on everything else.
//
//     swift run --package-path Samples/Examples retry
//
// Prints:
//  feed: attempt 1
//  feed: attempt 2
//  feed: attempt 3
//  loaded the feed
//  map: attempt 1
//  not loaded:
//  attempt 1: The server has no “map”.

import AdvancedOperations

struct Overloaded: Error, CustomStringConvertible {
  var description: String { "The server is overloaded." }
}

struct NotFound: Error, CustomStringConvertible {
  let file: String
  var description: String { "The server has no “\(file)”." }
}

// Stands for a server that is overloaded at first.
actor Server {
  private var requests = 0

  func load(_ file: String) throws -> String {
    requests += 1
    guard file == "feed" else { throw NotFound(file: file) }
    guard requests > 2 else { throw Overloaded() }
    return "the \(file)"
  }
}

// Delays of 10 ms, 20 ms and so on, of which a random part is waited, so that clients don't return
// all at the same time. A program would begin with a second.
let policy = RetryPolicy.exponential(.milliseconds(10))
  .jittered()
  .attempts(5)
  // An attempt may take 10 s, and all attempts with their delays a minute.
  .attemptTimeout(.seconds(10))
  .totalTimeout(.seconds(60))
  // A file that isn't there will not be there the next time.
  .when { error in !(error is NotFound) }

let queue = AdvancedOperationQueue()
let server = Server()

for file in ["feed", "map"] {
  // The policy runs the body again, so the body must be safe to repeat.
  let load = ResultOperation(name: file, retry: policy) {
    print("\(file): attempt \(AdvancedOperation.current?.attempt ?? 1)")
    return try await server.load(file)
  }
  do {
    print("loaded \(try await queue.run(load))")
  } catch let failure as OperationFailure {
    print("not loaded:\n\(failure)")
  }
}
