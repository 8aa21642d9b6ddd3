// Run work once for all who need the same value at the same time.
//
//     swift run --package-path Samples/Examples share
//
// Prints:
//  the server issues token 1
//  3 requests have token 1
//  a request was cancelled, the others go on
//  the server issues token 2
//  2 requests have token 2

import AdvancedOperations

// Stands for a server that needs a while to issue a token.
actor Server {
  private var count = 0

  func refresh() async throws -> String {
    try await Task.sleep(for: .milliseconds(500))
    count += 1
    print("the server issues token \(count)")
    return "token \(count)"
  }
}

let queue = AdvancedOperationQueue()
let server = Server()

// One operation for each account. The operation may have conditions, claims and retries as any other.
let tokens = SharedOperations<String, String>("tokens", queue: queue) { account in
  ResultOperation(name: "refresh \(account)", retry: .exponential(.milliseconds(10)).attempts(3)) {
    try await server.refresh()
  }
}

// Three requests find that the token has expired.
async let first = tokens.value(for: "ada")
async let second = tokens.value(for: "ada")
async let third = tokens.value(for: "ada")
let received = try await [first, second, third]
print("\(received.count) requests have \(received[0])")

// Nothing is stored: a later request gets a new token. One of three requests is cancelled meanwhile.
let requests = (1...3).map { _ in Task { try await tokens.value(for: "ada") } }
requests[0].cancel()
do {
  _ = try await requests[0].value
} catch is CancellationError {
  print("a request was cancelled, the others go on")
}
print("2 requests have \(try await requests[1].value)")
