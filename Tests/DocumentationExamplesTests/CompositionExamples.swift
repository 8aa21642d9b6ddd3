import AdvancedOperations
import AdvancedOperationsTesting
import Testing

@Test func `ResultOperation: values flow from one to the next`() async throws {
  let queue = AdvancedOperationQueue()
  let feed = FeedServer()

  let download = ResultOperation(name: "download") { try await feed.download() }
  let parse = download.then(name: "parse") { data in try Feed(data).events }
  queue.addOperations([download, parse])
  let events = try await parse.value

  #expect(events.count == 3)
}

@Test func `ResultOperation: values of several operations meet in one`() async throws {
  let queue = AdvancedOperationQueue()
  let events = ResultOperation { ["Chile 1960"] }
  let stations = ResultOperation { 12 }
  @Sendable func draw(_ events: [String], _ stations: Int) -> String {
    "\(events.count) events, \(stations) stations"
  }

  let map = ResultOperation(name: "map", after: events, stations) { events, stations in
    draw(events, stations)
  }

  queue.addOperations([events, stations, map])
  #expect(try await map.value == "1 events, 12 stations")
}

@Test func `RetryPolicy: a download is tried five times, ever later`() {
  let feed = FeedServer(failures: 4)

  let download = ResultOperation(
    name: "download",
    retry: .exponential(.seconds(1), cap: .seconds(30)).jittered().attempts(5)
  ) { try await feed.download() }

  let simulation = simulate(download)
  #expect(download.ending == "succeeded")
  #expect(simulation.now > .zero && simulation.now <= .seconds(1 + 2 + 4 + 8))
}

private let tables = ["events", "stations"]

private final class Store: AdvancedOperation, @unchecked Sendable {
  let table: String

  init(_ table: String) {
    self.table = table
    super.init()
  }
}

@Test func `GroupOperation: it is done when its children are`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let download = ResultOperation { "data" }
  let parse = download.then { data in [data] }

  let sync = GroupOperation(name: "sync", maxConcurrentOperationCount: 2) {
    download
    parse
    for table in tables { Store(table) }
  }
  queue.addOperation(sync)

  simulation.run()
  #expect(sync.children.count == 4)
  #expect(sync.children.allSatisfy { $0.isFinished })
  #expect(sync.ending == "succeeded")
}

@Test(arguments: [true, false])
func `OperationBuilder: children are listed as statements`(isSunday: Bool) {
  typealias Backup = AdvancedOperation
  typealias Vacuum = AdvancedOperation
  struct Journal: Sendable { func write(_ line: String) {} }
  let journal = Journal()

  let nightly = GroupOperation(name: "nightly") {
    let backup = Backup()
    _ = backup.onFinish { operation, _ in journal.write("\(operation)") }
    backup
    if isSunday { Vacuum() }
    for table in tables { Store(table) }
  }

  #expect(nightly.children.count == (isSunday ? 4 : 3))
}

private actor Hall {
  private(set) var taken: [String: Int] = [:]
  func reserve(_ count: Int, for id: String) throws { taken[id] = count }
  func release(_ id: String) throws { taken[id] = nil }
}

private struct Bank: Sendable {
  func charge(_ euros: Int, for id: String) async throws { throw Offline() }
}

@Test func `AdvancedOperation: what a child has done is undone`() async {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let hall = Hall()
  let bank = Bank()
  let id = "order 17"

  let reserve = ResultOperation(name: "reserve") { try await hall.reserve(2, for: id) }
  reserve.onRollback { try await hall.release(id) }
  let order = GroupOperation(name: "order", errorPolicy: .failFast) {
    reserve
    reserve.then(name: "pay") { _ in try await bank.charge(40, for: id) }
  }

  queue.addOperation(order)
  simulation.run()
  #expect(order.ending.hasPrefix("failed"))
  #expect(await hall.taken.isEmpty)
}

@Test func `AdvancedOperation: a body reaches the group that it is in`() {
  struct Archive: Sendable { func hasImage() async throws -> Bool { true } }
  let archive = Archive()

  let search = ResultOperation(name: "search") {
    if try await archive.hasImage() { AdvancedOperation.current?.group?.cancel() }
  }

  let group = GroupOperation { search }
  simulate(group)
  #expect(group.outcome?.isCancelled == true)
}

private struct NotFound: Error {}

@Suite struct `Examples of retry policies` {
  @Test func `a policy for some errors only`() {
    let policy = RetryPolicy.constant(.seconds(5)).attempts(3).when { !($0 is NotFound) }
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let missing = ResultOperation(retry: policy) { throw NotFound() }
    let broken = ResultOperation(retry: policy) { throw CancellationError() }
    queue.addOperations([missing, broken])
    simulation.run()
    #expect(missing.errors.count == 1)
    #expect(broken.errors.count == 3)
  }
}
