import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
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
  download.addCondition(MutuallyExclusive("downloads"))
  download.addObserver(TimeoutObserver(.seconds(30)))
  download.onFinish { operation, errors in
    print("\(operation): \(errors.count) error")
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

  let retry = RetryPolicy.exponential(.seconds(1), attempts: 3)
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
