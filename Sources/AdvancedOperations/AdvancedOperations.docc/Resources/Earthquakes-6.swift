import AdvancedOperations

struct SizeLimit: ImmediateCondition {
  struct TooLarge: Error, CustomStringConvertible {
    let size: Int
    let limit: Int
    var description: String { "The feed has \(size) bytes, and \(limit) are the most." }
  }

  let limit: Int
  let size: @Sendable () -> Int

  var name: String { "size" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    let size = size()
    return size <= limit ? .satisfied : .failed(TooLarge(size: size, limit: limit))
  }
}

let server = FeedServer()
let database = Database()

let locate = ResultOperation(name: "locate") { "all_week" }
let retry = RetryPolicy.exponential(.milliseconds(20)).attempts(3)
let download = locate.then(name: "download", retry: retry) { name in
  try await server.feed(named: name)
}
download.addObserver(TimeoutObserver(.seconds(30)))

let parse = download.then(name: "parse") { text in
  text.split(separator: "\n").compactMap(Earthquake.init)
}
parse.addCondition(SizeLimit(limit: 1_000_000) { (try? download.result?.get().utf8.count) ?? 0 })

let store = parse.then(name: "store") { earthquakes in
  await database.insert(earthquakes)
  return earthquakes.count
}
store.addClaim(MutuallyExclusive("database"))
store.addCondition(FreeSpace(atLeast: 1_000_000, at: "/tmp"))

let queue = AdvancedOperationQueue()
print("stored \(try await queue.run(store))")
