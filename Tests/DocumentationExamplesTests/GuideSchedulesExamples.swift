import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Synchronization
import Testing

@Test func `Exploring schedules: an update is lost in some order`() throws {
  let print = Lines()

  final class Account: Sendable {
    let balance = Mutex(0)
  }

  struct Lost: Error, CustomStringConvertible {
    let balance: Int
    var description: String { "The balance is \(balance), and not 30." }
  }

  func deposits(_ simulation: SimulatedEnvironment, _ claims: [any OperationClaim]) throws {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let account = Account()
    for amount in [10, 20] {
      let deposit = ResultOperation(name: "deposit \(amount)") {
        let old = account.balance.withLock { $0 }
        await Task.yield()  // another step may come in between
        account.balance.withLock { $0 = old + amount }
      }
      for claim in claims { deposit.addCondition(claim) }
      queue.addOperation(deposit)
    }
    simulation.run()
    let balance = account.balance.withLock { $0 }
    if balance != 30 { throw Lost(balance: balance) }
  }

  do {
    try exploreSchedules { simulation in try deposits(simulation, []) }
  } catch let failure as ScheduleFailure {
    print("without a claim:", failure.underlying)
  }

  let report = try exploreSchedules { simulation in
    try deposits(simulation, [MutuallyExclusive("account")])
  }
  print("with a claim: it holds in", report.isComplete ? "every order" : "all that were tried")

  try expectShown(print, in: "ExploringSchedules", of: "AdvancedOperationsTesting")
}
