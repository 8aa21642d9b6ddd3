import AdvancedOperations
import AdvancedOperationsTesting
import Testing

/// Takes nothing at the first time.
private actor BusyServer {
  private var calls = 0
  func upload() throws {
    calls += 1
    if calls == 1 { throw Offline() }
  }
}

@Test func `DelayOperation: there is a pause between two operations`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let first = ResultOperation { simulation.now }
  let second = ResultOperation { simulation.now }

  let pause = DelayOperation(.seconds(30))
  second.addDependency(pause)
  pause.addDependency(first)
  queue.addOperations([first, pause, second])

  simulation.run()
  #expect((try? second.result?.get()) == .seconds(30))
}

private let mirrors = ["north", "south", "west"]

private final class Upload: AdvancedOperation, @unchecked Sendable {
  let mirror: String

  init(to mirror: String) {
    self.mirror = mirror
    super.init()
  }

  override func execute() {
    if mirror == "west" { finish() } else { finish(withError: Offline()) }
  }
}

@Test func `RetryOperation: each attempt is a new operation`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let network = Answer(true)

  let upload = RetryOperation(retry: .exponential(.seconds(1)).jittered().attempts(5)) {
    attempt in
    let upload = Upload(to: mirrors[attempt % mirrors.count])
    upload.addCondition(BlockCondition("online") { await network.isReachable })
    return upload
  }
  queue.addOperation(upload)

  simulation.run()
  #expect(upload.ending == "succeeded")
}

/// Has nothing the first time, and is empty afterwards.
private struct Inbox: Sendable {
  let rounds = Lines()

  func fetch() async throws {
    rounds("fetch")
    if rounds.all.count < 3 { throw Offline() }
    throw Closed()
  }

  struct Closed: Error {}
}

@Test func `RepeatOperation: something is done again and again`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let inbox = Inbox()

  let poll = RepeatOperation(every: .seconds(60)) { round in
    ResultOperation(name: "poll") { try await inbox.fetch() }
  }
  poll.mapRoundErrors { _, error in error is Offline ? nil : error }
  queue.addOperation(poll)

  simulation.run()
  #expect(inbox.rounds.all.count == 3)
  #expect(poll.errors.first is Inbox.Closed)
  #expect(simulation.now == .seconds(120))
}

@Test func `RetryPolicy: attempts and all of them together have limits`() {
  let policy = RetryPolicy.exponential(.seconds(1)).attempts(10)
    .attemptTimeout(.seconds(5))
    .totalTimeout(.seconds(60))

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let download = ResultOperation(retry: policy) { try await clock.sleep(until: .seconds(3600)) }
  AdvancedOperationQueue(environment: simulation.environment).addOperation(download)
  simulation.run()
  #expect(download.errors.allSatisfy { $0 is OperationTimeout })
  #expect(simulation.now <= .seconds(60))
}

private let servers = [FeedServer(failures: 9), FeedServer()]

@Test func `RetryOperation: the value is that of the attempt that succeeded`() throws {
  let page = RetryOperation(name: "page", retry: .immediate.attempts(3)) { attempt in
    ResultOperation(name: "attempt") { try await servers[attempt % 2].download() }
  }
  let length = page.then { text in text.count }

  simulate(page, length)
  #expect(try length.result?.get() == 35)
}

@Test func `AdvancedOperation: a body knows the number of its attempt`() {
  let download = ResultOperation(name: "download", retry: .immediate.attempts(3)) {
    let attempt = AdvancedOperation.current?.attempt ?? 1
    return try await servers[attempt % 2].download()
  }

  simulate(download)
  #expect(download.attempt == 1)
}

@Test func `RetryPolicy: a closure chooses delays, and a limit their number`() {
  let policy = RetryPolicy { _, error in error is Offline ? .seconds(10) : nil }
    .attempts(5)

  let download = ResultOperation(retry: policy) { throw Offline() }
  let simulation = simulate(download)
  #expect(download.attempt == 5)
  #expect(simulation.now == .seconds(40))
}

@Test func `RetryPolicy: three attempts follow one another immediately`() {
  let feed = FeedServer(failures: 2)

  let download = ResultOperation(retry: .immediate.attempts(3)) { try await feed.download() }

  let simulation = simulate(download)
  #expect(download.ending == "succeeded")
  #expect(simulation.now == .zero)
}

@Test func `RetryPolicy: every policy can have jitter`() {
  let policy = RetryPolicy { failedAttempts, error in
    error is Offline && failedAttempts < 5 ? .seconds(10) : nil
  }
  let polite = policy.jittered()

  let download = ResultOperation(retry: polite) { throw Offline() }
  let simulation = simulate(download)
  #expect(download.attempt == 5)
  #expect(simulation.now < .seconds(40))
}

@Test func `RetryPolicy: a slot that is free between the attempts`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let server = BusyServer()
  let upload = ResultOperation(
    name: "upload",
    retry: .exponential(.seconds(10)).attempts(5).releasingSlot()
  ) { try await server.upload() }
  upload.addClaim(MutuallyExclusive("uplink"))

  let other = ResultOperation(name: "other") { clock.now }
  other.addClaim(MutuallyExclusive("uplink"))
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  queue.maxConcurrentOperationCount = 1
  queue.addOperations([upload, other])
  simulation.run()
  #expect((try? other.result?.get()) == .zero)
  #expect(upload.outcome?.isSuccess == true)
  #expect(simulation.now == .seconds(10))
}

@Test func `ResultOperation: any number of inputs`() throws {
  let servers = [FeedServer(), FeedServer()]

  let pages = servers.map { server in ResultOperation { try await server.download() } }
  let book = ResultOperation(name: "book", afterAll: pages) { pages in
    pages.joined(separator: "\n")
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  queue.addOperations(pages + [book])
  simulation.run()
  #expect(try book.result?.get().count == 71)
}

private struct Cache: Sendable { let feed = "Kamchatka 1952" }

@Test func `ResultOperation: a value is taken from elsewhere`() throws {
  let cache = Cache()
  let download = ResultOperation(name: "download") { try await FeedServer(failures: 1).download() }

  let feed = download.recover(name: "cached") { failure in cache.feed }
  let parse = feed.then(name: "parse") { data in try Feed(data) }

  simulate(download, feed, parse)
  #expect(try parse.result?.get().events == ["Kamchatka 1952"])
}

@Test func `ResultOperation: another operation produces the value`() throws {
  let download = ResultOperation(name: "download") { try await FeedServer(failures: 1).download() }
  let server = FeedServer()

  let feed = download.recover(name: "feed") { failure in
    let mirror = ResultOperation(name: "mirror") { try await server.download() }
    mirror.addClaim(MutuallyExclusive("mirror"))
    return mirror
  }

  simulate(download, feed)
  #expect(try feed.result?.get().count == 35)
}
