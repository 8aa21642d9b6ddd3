import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Foundation
import Synchronization
import Testing

private func queue(of simulation: SimulatedEnvironment) -> AdvancedOperationQueue {
  AdvancedOperationQueue(environment: simulation.environment)
}

@Test func `Restarts: an order continues after the payment`() throws {
  let print = Lines()

  func makeOrder(_ journal: some OperationJournal) -> [AdvancedOperation] {
    let reserve = ResultOperation {
      print("reserve two seats")
      return [14, 15]
    }.recorded(as: "reserve", in: journal)
    let pay = reserve.then { seats in
      print("charge \(20 * seats.count) €")
      return "payment 7"
    }.recorded(as: "pay", in: journal)
    let ticket = pay.then { payment in
      print("print a ticket for \(payment)")
    }.recorded(as: "ticket", in: journal)
    return [reserve, pay, ticket]
  }

  let journal = InMemoryJournal()
  let firstLife = SimulatedEnvironment(seed: 1)
  AdvancedOperationQueue(environment: firstLife.environment).addOperations(makeOrder(journal))
  try firstLife.run(until: { journal.keys == ["reserve", "pay"] })

  print("— restart —")
  let secondLife = SimulatedEnvironment(seed: 2)
  let order = makeOrder(journal)
  AdvancedOperationQueue(environment: secondLife.environment).addOperations(order)
  secondLife.run()
  for operation in order { print(operation) }

  try expectShown(print, in: "SurvivingARestart")
  #expect(journal.keys == ["reserve", "pay", "ticket"])
}

private final class Bank: Sendable {
  private let charges = Mutex<[String]>([])
  private let print: Lines

  init(_ print: Lines) { self.print = print }

  var chargeCount: Int { charges.withLock { $0.count } }

  func charge(_ amount: Int, idempotencyKey key: String) async throws -> String {
    let isNew = charges.withLock { charges in
      if charges.contains(key) { return false }
      charges.append(key)
      return true
    }
    print(isNew ? "the bank takes \(amount) €" : "the bank has taken them before")
    return "receipt of \(key)"
  }
}

@Test func `Restarts: a crash between a payment and its record`() throws {
  let print = Lines()
  let bank = Bank(print)
  let journal = InMemoryJournal()

  func makePayment() -> ResultOperation<String> {
    ResultOperation {
      try await bank.charge(40, idempotencyKey: "order 17/pay")
    }.recorded(as: "order 17/pay", in: journal)
  }

  let firstLife = SimulatedEnvironment(seed: 1)
  AdvancedOperationQueue(environment: firstLife.environment).addOperation(makePayment())
  try firstLife.run(until: { bank.chargeCount == 1 })
  print("recorded: \(journal.keys)")

  print("— restart —")
  let secondLife = SimulatedEnvironment(seed: 2)
  AdvancedOperationQueue(environment: secondLife.environment).addOperation(makePayment())
  secondLife.run()
  print("recorded: \(journal.keys)")

  try expectShown(print, in: "SurvivingARestart")
  #expect(bank.chargeCount == 1)
}

@Test func `Restarts: a random value is recorded before its use`() throws {
  let bank = Bank(Lines())
  let journal = InMemoryJournal()
  for life in 0..<2 {
    let paymentID = ResultOperation { UUID() }.recorded(as: "payment id", in: journal)
    let pay = paymentID.then { id in
      try await bank.charge(40, idempotencyKey: id.uuidString)
    }.recorded(as: "pay", in: journal)
    let simulation = SimulatedEnvironment(seed: UInt64(life))
    queue(of: simulation).addOperations([paymentID, pay])
    // The first process ends when the bank has charged, and before that is recorded.
    if life == 0 {
      try simulation.run(until: { bank.chargeCount == 1 })
    } else {
      simulation.run()
    }
    #expect(journal.keys == (life == 0 ? ["payment id"] : ["payment id", "pay"]))
  }
  #expect(bank.chargeCount == 1)
}

private final class Hall: Sendable {
  private let taken = Mutex<[Int: [Int]]>([:])
  private let print: Lines

  init(_ print: Lines) { self.print = print }

  var isFree: Bool { taken.withLock { $0.isEmpty } }

  func reserve(for order: Int) async throws -> [Int] {
    let seats = [14, 15]
    taken.withLock { $0[order] = seats }
    print("reserve \(seats)")
    return seats
  }

  func release(_ order: Int) async throws {
    let seats = taken.withLock { $0.removeValue(forKey: order) }
    if let seats { print("release \(seats)") }
  }
}

private struct CardDeclined: Error, CustomStringConvertible {
  let description = "The card was declined."
}

@Test func `Restarts: a rollback undoes the steps of an earlier run`() throws {
  let print = Lines()
  let hall = Hall(print)
  let journal = InMemoryJournal()

  func makeOrder() -> GroupOperation {
    let reserve = ResultOperation {
      try await hall.reserve(for: 17)
    }.recorded(as: "reserve", in: journal)
    reserve.onRollback {
      try await hall.release(17)
      journal.remove("reserve")
    }
    let pay = reserve.then { _ in throw CardDeclined() }.recorded(as: "pay", in: journal)
    return GroupOperation(name: "order", errorPolicy: .failFast) {
      reserve
      pay
    }
  }

  let firstLife = SimulatedEnvironment(seed: 1)
  AdvancedOperationQueue(environment: firstLife.environment).addOperation(makeOrder())
  try firstLife.run(until: { journal.keys == ["reserve"] })

  print("— restart —")
  let secondLife = SimulatedEnvironment(seed: 2)
  let order = makeOrder()
  AdvancedOperationQueue(environment: secondLife.environment).addOperation(order)
  secondLife.run()
  print(order.explain())
  print("recorded: \(journal.keys)")

  try expectShown(print, in: "SurvivingARestart")
  #expect(hall.isFree)
}

private struct DiskIsFull: Error, CustomStringConvertible {
  let description = "The disk is full."
}

@Test func `Restarts: what the journal can't record`() throws {
  let print = Lines()
  let journal = InMemoryJournal()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  journal.failRecord(1, with: DiskIsFull())
  let pay = ResultOperation(retry: .immediate.attempts(3)) {
    print("charge 40 €")
    return "payment 7"
  }.recorded(as: "pay", in: journal)
  queue.addOperation(pay)
  simulation.run()
  print(pay.explain())

  try expectShown(print, in: "SurvivingARestart")
}

@Test func `Restarts: a rollback detects that only the record has failed`() {
  let print = Lines()
  let journal = InMemoryJournal()
  journal.failRecord(1, with: DiskIsFull())
  let reserve = ResultOperation(name: "reserve") {}
  let pay = reserve.then { print("charge") }.recorded(as: "pay", in: journal)
  reserve.onRollback {
    let isOfJournal = pay.outcome?.failure?.first(OperationJournalError.self) != nil
    print(isOfJournal ? "left as it is" : "released")
  }
  let order = GroupOperation(name: "order") {
    reserve
    pay
  }
  simulate(order)
  #expect(order.outcome?.isFailed == true)
  #expect(print.all == ["charge", "left as it is"])
}

@Test func `Restarts: an answer that is lost is found the next time`() {
  let journal = InMemoryJournal()
  journal.failRecord(1, with: DiskIsFull(), isKept: true)
  let pays = (1...2).map { number in ResultOperation { number }.recorded(as: "pay", in: journal) }
  simulate(pays[0])
  #expect(pays[0].outcome?.isFailed == true)
  simulate(pays[1])
  #expect(pays[1].isFromJournal)
}

@Test func `Restarts: a record of another type is an error, and the body doesn't run`() throws {
  let print = Lines()
  let journal = InMemoryJournal([.init(key: "events", value: 3)])
  let events = ResultOperation {
    print("runs")
    return ["Chile 1960"]
  }.recorded(as: "events", in: journal)
  simulate(events)
  let failure = try #require(events.outcome?.failure)
  #expect(failure.first(OperationJournalError.self)?.action == .lookUp)
  #expect(print.all == [])
}

@Test func `Restarts: an operation without a key runs again, though nothing needs its value`() {
  let print = Lines()
  let journal = InMemoryJournal()
  for _ in 0..<2 {
    let download = ResultOperation(name: "download") {
      print("download")
      return "Chile 1960"
    }
    let parse = download.then { text in
      print("parse")
      return text.count
    }.recorded(as: "parse", in: journal)
    simulate(download, parse)
  }
  #expect(print.all == ["download", "parse", "download"])
}

@Test func `Restarts: two with one key, one after the other and at the same time`() {
  let print = Lines()
  let journal = InMemoryJournal()
  let first = ResultOperation { "first" }.recorded(as: "page", in: journal)
  let second = first.then { _ in "second" }.recorded(as: "page", in: journal)
  simulate(first, second)
  #expect(try! second.result?.get() == "first")
  #expect(second.isFromJournal)

  let both = (1...2).map { number in
    ResultOperation { print("body \(number)") }.recorded(as: "both", in: journal)
  }
  journal.delay = .seconds(1)
  simulate(both[0], both[1])
  #expect(print.all.count == 2)
  #expect(both.count { $0.outcome?.isFailed == true } == 1)
}

@Test func `Restarts: the steps of a body, and the attempts of a retry operation`() throws {
  let print = Lines()
  let journal = InMemoryJournal()
  let tries = Mutex(0)

  let archive = ResultOperation(name: "archive") {
    try await withOperations { scope in
      for page in 1...3 {
        let download = ResultOperation {
          print("download page \(page)")
        }.recorded(as: "page \(page)", in: journal)
        try await scope.add(download).value
      }
    }
  }

  let retry = RetryOperation(name: "retry", retry: .immediate.attempts(2)) { _ in
    let step = ResultOperation { print("step") }.recorded(as: "step", in: journal)
    return step.then(name: "then") {
      let number = tries.withLock { tries in
        tries += 1
        return tries
      }
      if number == 1 { throw Offline() }
    }
  }
  simulate(archive, retry)
  #expect(retry.outcome?.isSuccess == true)
  #expect(print.all.count == 4)
  #expect(journal.keys.count == 4)
}

@Test func `Restarts: what JSON can't encode fails after the work; nil and Void survive`()
  async throws
{
  let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString)").path
  defer { try? FileManager.default.removeItem(atPath: path) }
  for isRestarted in [false, true] {
    let journal = try FileJournal(path: path)
    let queue = AdvancedOperationQueue()
    let none = ResultOperation<Int?> { nil }.recorded(as: "none", in: journal)
    let done = none.then { _ in }.recorded(as: "done", in: journal)
    let infinite = ResultOperation { Double.infinity }.recorded(as: "infinite", in: journal)
    queue.addOperations([none, done, infinite])
    try await queue.untilAllOperationsAreFinished()
    #expect(none.isFromJournal == isRestarted && done.isFromJournal == isRestarted)
    let error = infinite.outcome?.failure?.first(OperationJournalError.self)
    #expect(error?.action == .record)
    #expect(error?.underlying is EncodingError)
  }
  let journal = try FileJournal(path: path)
  let other = ResultOperation { "text" }.recorded(as: "done", in: journal)
  await #expect(throws: OperationFailure.self) { try await AdvancedOperationQueue().run(other) }
  let error = other.outcome?.failure?.first(OperationJournalError.self)
  #expect(error?.action == .lookUp && error?.underlying is DecodingError)
}

@Test func `Restarts: one journal of a file for each order`() async throws {
  let print = Lines()
  let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let queue = AdvancedOperationQueue()

  func makeOrder(_ journal: some OperationJournal) -> [AdvancedOperation] {
    let pay = ResultOperation { print("charge 40 €") }.recorded(as: "pay", in: journal)
    let ticket = pay.then { print("print a ticket") }.recorded(as: "ticket", in: journal)
    return [pay, ticket]
  }

  func work(on order: String) async throws {
    let file = folder.appending(path: "\(order).journal")
    let operations = makeOrder(try FileJournal(path: file.path))
    if let ticket = operations.last { try await queue.run(ticket) }
  }

  try await work(on: "order 17")
  try await work(on: "order 18")
  #expect(print.all == ["charge 40 €", "print a ticket", "charge 40 €", "print a ticket"])
  try await work(on: "order 17")
  #expect(print.all.count == 4)
}
