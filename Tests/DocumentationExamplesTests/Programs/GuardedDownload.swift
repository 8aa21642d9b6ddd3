import AdvancedOperations
import AdvancedOperationsTesting
import Testing

/// A download that needs the network, a parser, and a store that needs the database to itself.
///
/// The value goes from one to the next, and what goes wrong does too: the last operation says how
/// all of it ended.
@Suite struct `A program that downloads, parses and stores` {
  struct ConnectionLost: Error {}

  struct Malformed: Error, Equatable {
    var line: Int
  }

  actor Archive {
    private(set) var events: [Int] = []

    func save(_ events: [Int]) -> Int {
      self.events += events
      return events.count
    }
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let queue: AdvancedOperationQueue
  let online = ConditionProbe(name: "online")
  let archive = Archive()

  init() {
    queue = AdvancedOperationQueue(environment: simulation.environment)
  }

  func store(
    _ fetch: @escaping @Sendable () async throws -> String
  ) -> ResultOperation<Int> {
    let policy = RetryPolicy.exponential(.seconds(1)).attempts(3).when { $0 is ConnectionLost }
    let download = ResultOperation(name: "download", retry: policy) { try await fetch() }
    download.addCondition(online)
    download.addObserver(TimeoutObserver(.seconds(30)))

    let parse = download.then(name: "parse") { text in
      try text.split(separator: "\n").enumerated().map { number, line in
        guard let event = Int(line) else { throw Malformed(line: number + 1) }
        return event
      }
    }

    let store = parse.then(name: "store") { [archive] events in await archive.save(events) }
    store.addClaim(MutuallyExclusive("database"))
    return store
  }

  func run(_ fetch: @escaping @Sendable () async throws -> String) throws -> Int {
    let store = store(fetch)
    return try simulation.run { [queue] in try await queue.run(store) }
  }

  func events() throws -> [Int] {
    try simulation.run { [archive] in await archive.events }
  }

  @Test func `stores what it has downloaded`() throws {
    online.answer(.satisfied)
    #expect(try run { "3\n1\n4" } == 3)
    #expect(try events() == [3, 1, 4])
    #expect(simulation.now == .zero)
  }

  @Test func `tries again when the connection is lost`() throws {
    online.answer(.satisfied)
    let count = try run {
      guard AdvancedOperation.current?.attempt == 3 else { throw ConnectionLost() }
      return "1\n5"
    }
    #expect(count == 2)
    #expect(simulation.now == .seconds(1 + 2))
  }

  @Test func `says where the condition was that does not hold`() throws {
    online.answer(.failed(ConnectionLost()))
    let failure = try #require(throws: OperationFailure.self) { try run { "3" } }
    #expect(failure.isInherited)
    #expect(
      failure.rootCauses.map(\.origin) == [
        .dependency("parse", .dependency("download", .condition("online")))
      ]
    )
    #expect(failure.first(ConnectionLost.self) != nil)
    #expect(try events().isEmpty)
  }

  @Test func `says which line of the feed is wrong, and leaves the database alone`() throws {
    online.answer(.satisfied)
    let failure = try #require(throws: OperationFailure.self) { try run { "3\n1\nπ" } }
    #expect(failure.first(Malformed.self) == Malformed(line: 3))
    #expect(failure.rootCauses.map(\.origin) == [.dependency("parse", .body)])
    #expect(try events().isEmpty)
  }

  @Test func `gives up on a server that does not answer`() throws {
    online.answer(.satisfied)
    let failure = try #require(throws: OperationFailure.self) {
      try run {
        try await OperationClock.current.sleep(for: .seconds(3600))
        return "3"
      }
    }
    #expect(failure.isTimeout)
    #expect(failure.first(OperationTimeout.self) == OperationTimeout(duration: .seconds(30)))
    #expect(simulation.now == .seconds(30))
  }

  @Test func `has nothing to do when nothing has changed`() throws {
    online.answer(.satisfied)
    let failure = try #require(throws: OperationFailure.self) {
      try run { throw OperationSkipped(reason: "not modified") }
    }
    #expect(failure.skipReason == "not modified")
    #expect(!failure.isCancellation)
    #expect(try events().isEmpty)
  }
}
