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
      for claim in claims { deposit.addClaim(claim) }
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

/// The sizes in the article's tables.
@Suite struct `Exploring schedules: how large a workflow can be` {
  /// Explores chains of operations made with `then`, and perhaps a cancel of the last operation.
  private static func orders(
    _ chainCount: Int = 1,
    of length: Int,
    inGroup: Bool = false,
    cancel: Bool = false
  ) throws -> Int {
    let report = try exploreSchedules(depthFirst: 10_000) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      var operations: [ResultOperation<Void>] = []
      for _ in 0..<chainCount {
        var last = ResultOperation {}
        operations.append(last)
        for _ in 1..<length {
          last = last.then {}
          operations.append(last)
        }
      }
      if inGroup {
        queue.addOperation(GroupOperation { operations })
      } else {
        queue.addOperations(operations)
      }
      if cancel, let last = operations.last { simulation.addStep("cancel") { last.cancel() } }
      simulation.run()
      try #require(queue.operationCount == 0)
    }
    #expect(report.isComplete)
    return report.scheduleCount
  }

  @Test(arguments: [(2, 1), (3, 1), (2, 2)])
  func `chains run at the same time`(chainCount: Int, length: Int) throws {
    let orders = try Self.orders(chainCount, of: length)
    let condition = length == 1 ? "" : " with a `depthFirst` of 500"
    try expectRow(
      "| \(chainCount) × \(length) | \(orders) | complete\(condition) |",
      in: "ExploringSchedules"
    )
  }

  @Test(arguments: 2...4)
  func `a chain, with a cancel and in a group`(length: Int) throws {
    let (plain, group) = (try Self.orders(of: length), try Self.orders(of: length, inGroup: true))
    let cancel = try Self.orders(of: length, cancel: true)
    try expectRow("| \(length) | \(plain) | \(cancel) | \(group) |", in: "ExploringSchedules")
  }

  @Test func `a chain in a group, with a cancel`() throws {
    let orders = try Self.orders(of: 2, inGroup: true, cancel: true)
    try expectRow(
      "A chain of two operations in a group, with a cancel, has \(orders) orders.",
      in: "ExploringSchedules"
    )
  }
}
