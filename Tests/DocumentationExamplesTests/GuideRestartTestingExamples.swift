import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Foundation
import Synchronization
import Testing

private struct DiskIsFull: Error {}

private final class Basket: Sendable {
  private let kept = Mutex<[Int]>([])
  var seats: [Int] { kept.withLock { $0 } }
  func add(_ seats: [Int]) { kept.withLock { $0 += seats } }
}

@Test func `Restarts in tests: an exploration finds values that are kept in memory only`() throws {
  var message = ""

  do {
    try exploreRestarts { simulation, journal in
      let basket = Basket()
      let reserve = ResultOperation { basket.add([14, 15]) }.recorded(as: "reserve", in: journal)
      let pay = reserve.then { 20 * basket.seats.count }.recorded(as: "pay", in: journal)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.addOperations([reserve, pay])
      return pay
    }
  } catch let failure as ExpectationFailure {
    message = failure.message
  }

  #expect(message.contains("with “reserve” recorded"))
  #expect(message.hasSuffix("The value of “pay” was 40, and then 0."))
}

@Test func `Restarts in tests: values that are passed on survive`() throws {
  let report = try exploreRestarts { simulation, journal in
    let reserve = ResultOperation { [14, 15] }.recorded(as: "reserve", in: journal)
    let pay = reserve.then { seats in 20 * seats.count }.recorded(as: "pay", in: journal)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.addOperations([reserve, pay])
    return pay
  }
  #expect(report.restartCount > 0)

  #expect(report.scheduleCount == 10 && report.restartCount >= 10 * 2)
}

@Test func `Restarts in tests: a test simulates one crash, and a record that fails`() throws {
  func makeOrder(_ journal: InMemoryJournal) -> [ResultOperation<Int>] {
    let reserve = ResultOperation { 2 }.recorded(as: "reserve", in: journal)
    let pay = reserve.then { seats in 20 * seats }.recorded(as: "pay", in: journal)
    return [reserve, pay]
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let journal = InMemoryJournal()
  queue.addOperations(makeOrder(journal))
  simulation.run()
  #expect(journal.keys == ["reserve", "pay"])

  let rest = journal.truncated(after: 1)
  rest.failRecord(1, with: DiskIsFull())
  let again = makeOrder(rest)
  queue.addOperations(again)
  simulation.run()
  #expect(again[0].isFromJournal)
  try expectOutcome(of: again[1], is: .failed)
  #expect(rest.keys == ["reserve"])
}

@Test func `Restarts in tests: a value of chance is a difference`() {
  #expect(throws: ExpectationFailure.self) {
    try exploreRestarts { simulation, journal in
      let id = ResultOperation { UUID() }.recorded(as: "id", in: journal)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.addOperation(id)
      return id
    }
  }
}
