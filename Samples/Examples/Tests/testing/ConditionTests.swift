// Test what a program does if a condition fails. A minute of waiting takes milliseconds, because time
// is simulated.
//
//     swift test --package-path Samples/Examples
//
// Prints, among other lines:
//  ✔ Test run with 2 tests in 0 suites passed

import AdvancedOperations
import AdvancedOperationsTesting
import Testing

struct Offline: Error, Equatable {}

// The code to test: it downloads if the network answers, and uses the copy on the disk otherwise.
func makeFeed(
  isOnline: any OperationCondition
) -> (download: ResultOperation<String>, feed: ResultOperation<String>) {
  let download = ResultOperation(name: "download") { "Valdivia 9.5" }
  download.addCondition(isOnline)
  // Gives up on a network that doesn't answer.
  download.addObserver(TimeoutObserver(.seconds(60), of: .evaluating))
  let feed = download.recover(name: "feed") { failure in
    guard failure.isTimeout || failure.first(Offline.self) != nil else { throw failure }
    return "the copy on the disk"
  }
  return (download, feed)
}

// The test runs once for each of ten seeds, because each seed takes another order of events.
@Test(arguments: SimulatedEnvironment.seeds)
func `if the network is down, the copy on the disk is used`(seed: UInt64) throws {
  let simulation = SimulatedEnvironment(seed: seed)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let (download, feed) = makeFeed(isOnline: BlockCondition("online") { throw Offline() })

  // Runs the operations until nothing is left to do. A plain `await` would wait forever.
  let text = try simulation.run { try await queue.run(feed) }

  #expect(text == "the copy on the disk")
  try expectConditionFailure(of: download, is: Offline(), condition: "online")
  #expect(!download.hasStarted)
}

@Test(arguments: SimulatedEnvironment.seeds)
func `if the network doesn't answer, the copy on the disk is used after a minute`(
  seed: UInt64
) throws {
  let simulation = SimulatedEnvironment(seed: seed)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  // A probe answers when the test says so. This one doesn't.
  let (download, feed) = makeFeed(isOnline: ConditionProbe(name: "online"))

  let text = try simulation.run { try await queue.run(feed) }

  #expect(text == "the copy on the disk")
  try expectOutcome(of: download, is: .cancelled)
  #expect(simulation.now == .seconds(60))
}
