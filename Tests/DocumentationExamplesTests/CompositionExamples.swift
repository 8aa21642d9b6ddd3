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
    retry: .exponential(.seconds(1), cap: .seconds(30), jitter: true, attempts: 5)
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
    backup.onFinish { operation, _ in journal.write("\(operation)") }
    backup
    if isSunday { Vacuum() }
    for table in tables { Store(table) }
  }

  #expect(nightly.children.count == (isSunday ? 4 : 3))
}

private actor Hall {
  private(set) var taken = 0
  func reserve(_ count: Int) throws -> Int {
    taken += count
    return count
  }
  func release(_ count: Int) throws { taken -= count }
}

@Test func `GroupOperation: what a child has done is undone`() async {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let hall = Hall()

  let order = GroupOperation(name: "order", errorPolicy: .failFast)
  let reserve = ResultOperation(name: "reserve") { [weak order] in
    let seats = try await hall.reserve(2)
    order?.onRollback { try await hall.release(seats) }
  }
  order.addOperation(reserve)

  let pay = ResultOperation(name: "pay") { throw Offline() }
  pay.addDependency(reserve)
  order.addOperation(pay)
  queue.addOperation(order)
  simulation.run()
  #expect(order.ending.hasPrefix("failed"))
  #expect(await hall.taken == 0)
}

@Test func `AdvancedOperation: a body reaches the group that it is in`() async {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let hall = Hall()

  let reserve = ResultOperation(name: "reserve") {
    let seats = try await hall.reserve(2)
    AdvancedOperation.current?.group?.onRollback { try await hall.release(seats) }
  }

  queue.addOperation(GroupOperation { reserve })
  simulation.run()
  #expect(await hall.taken == 2)
}

private struct NotFound: Error {}

@Suite struct `Examples of retry policies` {
  @Test func `a policy for some errors only`() {
    let policy = RetryPolicy.constant(.seconds(5), attempts: 3).when { !($0 is NotFound) }
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
