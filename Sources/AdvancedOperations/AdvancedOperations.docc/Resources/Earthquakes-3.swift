import AdvancedOperations

let server = FeedServer()

let locate = ResultOperation(name: "locate") { "all_week" }
let retry = RetryPolicy.exponential(.milliseconds(20)).attempts(3)
let download = locate.then(name: "download", retry: retry) { name in
  try await server.feed(named: name)
}
download.addObserver(TimeoutObserver(.seconds(30)))
download.addObserver(
  BlockObserver(willRetry: { operation, retry in
    print("\(operation.name ?? ""), attempt \(retry.nextAttempt): \(retry.error)")
  })
)

let queue = AdvancedOperationQueue()
print(try await queue.run(download))
