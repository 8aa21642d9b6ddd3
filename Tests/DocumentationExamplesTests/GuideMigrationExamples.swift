import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Synchronization
import Testing

private struct NoNetwork: Error, CustomStringConvertible {
  let description = "There is no network."
}

private struct Network: Sendable {
  var isReachable: Bool { get async { false } }
}

@Test func `Coming from PSOperations: a class with a condition, an observer and a group`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let network = Network()

  struct Reachable: OperationCondition {
    let network: Network
    var name: String { "reachable" }

    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      await network.isReachable ? .satisfied : .failed(NoNetwork())
    }
  }

  final class Download: AdvancedOperation, @unchecked Sendable {
    override func execute() { finish() }
  }

  let download = Download(name: "download")
  download.addCondition(Reachable(network: network))
  download.addClaim(MutuallyExclusive("downloads"))
  download.addObserver(TimeoutObserver(.seconds(30)))
  download.onFinish { operation, outcome in
    print("\(operation): \(outcome.failure?.errors.count ?? 0) error")
  }

  let parse = ResultOperation(name: "parse") { print("parse runs") }
  parse.addDependency(download)
  let publish = ResultOperation(name: "publish") { print("publish runs") }
  publish.addDependency(download)
  publish.addCondition(.allSucceeded)

  let get = GroupOperation(name: "get earthquakes") {
    download
    parse
    publish
  }
  queue.addOperation(get)
  simulation.run()
  print(get.explain())

  try expectShown(print, in: "ComingFromPSOperations")
}

@Test func `Coming from ProcedureKit: a value, a condition that ignores, a retry`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let server = FeedServer(failures: 1)

  let retry = RetryPolicy.exponential(.seconds(1)).attempts(3)
  let download = ResultOperation(name: "download", retry: retry) { try await server.download() }
  let count = download.then(name: "count") { text in try Feed(text).events.count }

  let notify = count.then(name: "notify") { count in print("\(count) events") }
  let isWanted = BlockCondition("wanted") { _ in .skipped(reason: "no subscribers") }
  notify.addCondition(isWanted)

  queue.addOperations([download, count, notify])
  simulation.run()
  for operation in [download, count, notify] as [AdvancedOperation] { print(operation) }
  print("after \(simulation.now.components.seconds) s")

  try expectShown(print, in: "ComingFromProcedureKit")
}

/// Calls back once, with an error, when it is cancelled.
private final class Request: Sendable {
  private let done: Mutex<(@Sendable (Result<String, any Error>) -> Void)?>

  init(_ done: @escaping @Sendable (Result<String, any Error>) -> Void) { self.done = Mutex(done) }

  func resume() {}
  func cancel() { done.withLock { $0.take() }?(.failure(CancellationError())) }
}

@Test func `Coming from ProcedureKit: a group with inputs and a condition`() throws {
  struct NoThumbnail: Error {}
  actor Events {
    func download(_ address: String) throws -> String { "Chile,Alaska" }
    func thumbnail(_ address: String) throws -> String { throw NoThumbnail() }
  }
  struct Account { let isSignedIn = true }
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let (feed, account) = (Events(), Account())

  func makeImport(_ address: String) -> (group: GroupOperation, events: ResultOperation<[String]>) {
    let download = ResultOperation(name: "download", retry: .constant(.seconds(1)).attempts(3)) {
      try await feed.download(address)
    }
    let thumbnail = ResultOperation(name: "thumbnail") { try await feed.thumbnail(address) }
    let parse = download.then(name: "parse") { text in text.split(separator: ",").map(String.init) }
    let group = GroupOperation(name: "import \(address)") {
      download
      thumbnail
      parse
    }
    group.addCondition(BlockCondition("signed in") { account.isSignedIn })
    group.mapChildErrors { _, error in error is NoThumbnail ? nil : error }
    return (group, parse)
  }

  let (group, events) = makeImport("/earthquakes")
  queue.addOperation(group)
  simulation.run()
  print(group.explain())
  print(try events.result?.get() ?? [])

  try expectShown(print, in: "ComingFromProcedureKit")
}

@Test func `Coming from ProcedureKit: a function creates the request that a cancel stops`() throws {
  enum Uplink {}
  struct Client: Sendable {
    func request(
      _ address: String,
      _ done: @escaping @Sendable (Result<String, any Error>) -> Void
    ) -> Request { Request(done) }
  }
  let client = Client()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  func makeFetch(after address: ResultOperation<String>) -> ResultOperation<String> {
    let fetch = address.then(name: "fetch") { address in
      let request = Mutex<Request?>(nil)
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let made = client.request(address) { result in continuation.resume(with: result) }
          request.withLock { $0 = made }
          made.resume()
          // A cancel may have come before there was anything to stop.
          if Task.isCancelled { made.cancel() }
        }
      } onCancel: {
        request.withLock { $0 }?.cancel()
      }
    }
    fetch.addClaim(MutuallyExclusive<Uplink>())
    fetch.addObserver(TimeoutObserver(.seconds(30)))
    return fetch
  }

  let address = ResultOperation(name: "address") { "chile" }
  let fetch = makeFetch(after: address)
  queue.addOperations([address, fetch])
  simulation.run()
  try expectOutcome(of: fetch, is: .cancelled)
  #expect(simulation.now == .seconds(30))
}

@Test(arguments: [true, false])
func `Coming from ProcedureKit: a cancelled dependency skips an operation`(isCancelled: Bool) {
  let load = ResultOperation(name: "load") { if !isCancelled { throw Offline() } }
  let show = ResultOperation(name: "show") {}
  show.addDependency(load)

  show.addCondition(.noneFailed)
  show.addCondition(
    BlockCondition("dependencies have run") { show in
      let outcomes = show.dependencies.map { ($0 as? AdvancedOperation)?.outcome }
      return outcomes.contains { $0?.isCancelled == true || $0?.isSkipped == true }
        ? .skipped(reason: "a dependency has not run") : .satisfied
    }
  )

  if isCancelled { load.cancel() }
  simulate(load, show)
  #expect(show.outcome?.isSkipped == isCancelled)
  #expect(show.outcome?.isFailed == !isCancelled)
}

@Test func `Coming from ProcedureKit: a repetition continues after a failed round`() {
  func rounds(mapping: Bool) -> [String] {
    let rounds = Lines()
    let poll = RepeatOperation(times: 3, pause: .seconds(60)) { round in
      ResultOperation {
        rounds("\(round)")
        throw Offline()
      }
    }
    if mapping { poll.mapRoundErrors { _, _ in nil } }
    simulate(poll)
    return rounds.all
  }
  #expect(rounds(mapping: true) == ["1", "2", "3"])
  #expect(rounds(mapping: false) == ["1"])
}

@Test func `Coming from task groups: four downloads, two at a time`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock

  @Sendable func size(of page: Int) async throws -> Int {
    try await clock.sleep(for: .seconds(1))
    return page * 10
  }

  @Sendable func total() async throws -> Int {
    try await withOperations(maxConcurrentOperationCount: 2) { scope in
      let sizes = (1...4).map { page in
        scope.add(ResultOperation(name: "page \(page)") { try await size(of: page) })
      }
      var total = 0
      for size in sizes { total += try await size.value }
      return total
    }
  }

  let sum = try simulation.run { try await total() }
  print("\(sum), after \(simulation.now.components.seconds) s")

  try expectShown(print, in: "ComingFromTaskGroups")
}

@Test func `Coming from task groups: values in the order in which the operations end`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock

  @Sendable func size(of page: Int) async throws -> Int {
    try await clock.sleep(for: .seconds(5 - page))
    return page * 10
  }

  @Sendable func printSizes() async throws {
    try await withOperations { scope in
      let (results, ends) = AsyncStream.makeStream(of: Result<Int, OperationFailure>.self)
      let downloads = (1...3).map { page in
        let download = ResultOperation(name: "page \(page)") { try await size(of: page) }
        download.onFinish { download, _ in
          if let result = download.result { ends.yield(result) }
        }
        return scope.add(download)
      }
      for await result in results.prefix(downloads.count) { print(try result.get()) }
    }
  }

  try simulation.run { try await printSizes() }

  try expectShown(print, in: "ComingFromTaskGroups")
  #expect(print.all == ["30", "20", "10"])
}

@Test func `Coming from task groups: the first error ends such a loop, and the scope`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let isOver = Lines()

  @Sendable func first() async throws -> Int {
    try await withOperations { scope in
      let (results, ends) = AsyncStream.makeStream(of: Result<Int, OperationFailure>.self)
      for seconds in [1, 2, 60] {
        let work = ResultOperation(name: "\(seconds)") {
          try await clock.sleep(for: .seconds(seconds))
          if seconds == 2 { throw Offline() }
          if seconds == 1 { throw OperationSkipped(reason: "no need") }
          return seconds
        }
        work.onFinish { work, _ in
          isOver("\(work)")
          if let result = work.result { ends.yield(result) }
        }
        scope.add(work)
      }
      var count = 0
      for await result in results.prefix(3) {
        if case .failure(let failure) = result, failure.skipReason != nil { continue }
        count += try result.get()
      }
      return count
    }
  }

  #expect(throws: (any Error).self) { try simulation.run { try await first() } }
  #expect(simulation.now == .seconds(2))
  #expect(isOver.all.count == 3)
}

@Test func `Coming from task groups: the first error cancels the others immediately`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock

  @Sendable func size(of page: Int) async throws -> Int {
    try await clock.sleep(for: .seconds(page))
    if page == 2 { throw Offline() }
    return page * 10
  }

  @Sendable func total() async throws -> Int {
    let downloads = (1...4).map { page in
      ResultOperation(name: "page \(page)") { try await size(of: page) }
    }
    try await queue.run(GroupOperation(name: "pages", errorPolicy: .failFast) { downloads })
    var total = 0
    for download in downloads { total += try await download.value }
    return total
  }

  do {
    print(try simulation.run { try await total() })
  } catch {
    print(error)
    print("after \(simulation.now.components.seconds) s")
  }

  try expectShown(print, in: "ComingFromTaskGroups")
}

@Test func `Coming from task groups: a child that may fail`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)

  @Sendable func loadPage() async throws -> String {
    try await withOperations { scope in
      let text = scope.add(ResultOperation(name: "text") { "Chile 1960" })
      let icon = scope.add(ResultOperation<String>(name: "icon") { throw Offline() })
      let anyIcon = scope.add(icon.recover(name: "any icon") { _ in "🌍" })
      return try await "\(anyIcon.value) \(text.value)"
    }
  }

  print(try simulation.run { try await loadPage() })

  try expectShown(print, in: "ComingFromTaskGroups")
}

@Test func `Coming from task groups: failures as values`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock

  @Sendable func size(of page: Int) async throws -> Int {
    try await clock.sleep(for: .seconds(page))
    if page == 2 { throw Offline() }
    return page * 10
  }

  @Sendable func printSizes() async throws {
    try await withOperations { scope in
      let sizes = (1...3).map { page in
        let size = ResultOperation<Result<Int, OperationFailure>>(name: "page \(page)") {
          .success(try await size(of: page))
        }
        scope.add(size)
        return scope.add(size.recover { failure in .failure(failure) })
      }
      for size in sizes {
        switch try await size.value {
        case .success(let size): print(size)
        case .failure(let failure): print(failure.summary())
        }
      }
    }
  }

  try simulation.run { try await printSizes() }

  try expectShown(print, in: "ComingFromTaskGroups")
}

private struct NotFound: Error, CustomStringConvertible {
  let description = "There is no such page."
}

@Test func `Coming from task groups: a crawler, whose work discovers work`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let site = ["/": ["/a", "/b", "/c"], "/a": ["/", "/d"], "/b": ["/a"], "/d": []]

  @Sendable func links(on address: String) async throws -> [String] {
    try await clock.sleep(for: .seconds(1))
    guard let links = site[address] else { throw NotFound() }
    return links
  }

  actor Visits {
    private var seen: Set<String> = []
    private(set) var ends: [String: String] = [:]

    func begin(_ address: String) -> Bool { seen.insert(address).inserted }
    func end(_ address: String, _ end: String) { ends[address] = end }
  }

  @Sendable func crawl(from root: String, noting visits: Visits) async throws {
    try await withOperations(maxConcurrentOperationCount: 2) { scope in
      @Sendable func visit(_ address: String) async {
        guard await visits.begin(address) else { return }
        let page = ResultOperation(name: address) {
          let links = try await links(on: address)
          await visits.end(address, "links: \(links.count)")
          for link in links { await visit(link) }
        }
        scope.add(page)
        scope.add(page.recover { failure in await visits.end(address, failure.summary()) })
      }
      await visit(root)
    }
  }

  let visits = Visits()
  let ends = try simulation.run {
    try await crawl(from: "/", noting: visits)
    return await visits.ends
  }
  for (address, end) in ends.sorted(by: { $0.key < $1.key }) { print("\(address): \(end)") }
  print("after \(simulation.now.components.seconds) s")

  try expectShown(print, in: "ComingFromTaskGroups")
}

@Test func `Coming from task groups: a scope in an actor`() async throws {
  actor Total {
    var total = 0
    func add(_ numbers: [Int]) async throws {
      try await withOperations { scope in
        let operations = numbers.map { number in scope.add(ResultOperation { number }) }
        for operation in operations { total += try await operation.value }
      }
    }
  }
  let total = Total()
  try await total.add([1, 2, 3])
  #expect(await total.total == 6)
}

@Test func `Coming from task groups: a scope throws a failure that its closure has caught`() {
  let simulation = SimulatedEnvironment(seed: 1)
  #expect(throws: OperationFailure.self) {
    try simulation.run {
      try await withOperations { scope in
        let page = scope.add(ResultOperation<Int>(name: "page") { throw Offline() })
        return (try? await page.value) ?? 0
      }
    }
  }
}
