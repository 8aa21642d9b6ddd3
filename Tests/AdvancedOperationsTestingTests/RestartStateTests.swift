import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

private struct Offline: Error {}

/// Outlives the process.
private final class Bank: Sendable {
  private let kept = Locked<[(id: String?, amount: Int)]>([])
  var charges: [Int] { kept.withLock { $0.map(\.amount) } }

  /// Charges once for an id; each time if there is none.
  func charge(_ amount: Int, id: String? = nil) {
    kept.withLock { kept in
      if id == nil || !kept.contains(where: { $0.id == id }) { kept.append((id, amount)) }
    }
  }
}

private struct ChargedWrongly: Error { let charges: [Int] }

@Suite struct `External state that outlives restarts` {
  /// A charge, and what comes after it.
  private static func order(
    _ simulation: SimulatedEnvironment,
    _ journal: InMemoryJournal,
    _ bank: Bank,
    id: String?
  ) -> AdvancedOperation {
    let charge = ResultOperation {
      bank.charge(50, id: id)
      return 50
    }.recorded(as: "charge", in: journal)
    let send = charge.then { "sent for \($0)" }.recorded(as: "send", in: journal)
    AdvancedOperationQueue(environment: simulation.environment).addOperations([charge, send])
    return send
  }

  private static func check(_ bank: Bank) throws {
    if bank.charges != [50] { throw ChargedWrongly(charges: bank.charges) }
  }

  @Test func `exploring restarts finds a charge that is made twice`() throws {
    let thrown = #expect(throws: ExpectationFailure.self) {
      try exploreRestarts(externalState: { Bank() }) { simulation, journal, bank in
        Self.order(simulation, journal, bank, id: nil)
      } check: { bank in
        try Self.check(bank)
      }
    }
    let failure = try #require(thrown)
    let error = try #require(failure.underlying as? ChargedWrongly)
    #expect(error.charges.count > 1)
    #expect(
      failure.message.contains("with nothing recorded. In the end, the check of the external state")
    )
    #expect(failure.seed == 1)
  }

  @Test func `exploring restarts confirms that a charge with an id is made once`() throws {
    let report = try exploreRestarts(externalState: { Bank() }) { simulation, journal, bank in
      Self.order(simulation, journal, bank, id: "order 7")
    } check: { bank in
      try Self.check(bank)
    }
    #expect(report.restartCount > 100)
  }

  @Test func `exploring restarts finds a charge that is never made`() throws {
    let failure = #expect(throws: ExpectationFailure.self) {
      try exploreRestarts(externalState: { Bank() }) { simulation, journal, _ in
        Self.order(simulation, journal, Bank(), id: nil)
      } check: { bank in
        try Self.check(bank)
      }
    }
    #expect(try #require(failure).message.hasPrefix("The workflow ran without a crash. In the end"))
  }

  @Test func `external state is created for each series and shared by its runs`() throws {
    var (made, checked, lives): (Int, [Int], [Int: Int]) = (0, [], [:])
    let report = try exploreRestarts(randomSchedules: 2) {
      made += 1
      return made
    } of: { simulation, journal, number in
      lives[number, default: 0] += 1
      return Self.order(simulation, journal, Bank(), id: nil)
    } check: { number in
      checked.append(number)
    }
    #expect(checked == Array(1...made))
    #expect(Set(lives.values) == [1, 2, 3])
    // A series has one life more than deaths, and the two without a death none.
    #expect(lives.values.reduce(0, +) == report.restartCount + made)
    #expect(lives.values.count { $0 == 1 } == 2)
  }

  @Test func `external state needs no record but other mistakes still fail`() throws {
    let report = try exploreRestarts(externalState: { Bank() }) { simulation, _, bank in
      let charge = ResultOperation { bank.charge(50, id: "order 7") }
      AdvancedOperationQueue(environment: simulation.environment).addOperation(charge)
      return charge
    } check: { bank in
      try Self.check(bank)
    }
    #expect(report.restartCount > 10)
    let ran = #expect(throws: ExpectationFailure.self) {
      try exploreRestarts(externalState: { Bank() }) { simulation, journal, bank in
        let send = Self.order(simulation, journal, bank, id: "order 7")
        simulation.run()
        return send
      } check: { _ in
      }
    }
    #expect(try #require(ran).message.contains("Then the closure ran the simulation, with run()."))
  }

  @Test func `exploring restarts fails with the error if external state can't be created`() throws {
    let failure = #expect(throws: ExpectationFailure.self) {
      try exploreRestarts {
        throw Offline()
      } of: { (simulation, journal, bank: Bank) in
        Self.order(simulation, journal, bank, id: nil)
      } check: { _ in
      }
    }
    #expect(try #require(failure).underlying is Offline)
  }
}
