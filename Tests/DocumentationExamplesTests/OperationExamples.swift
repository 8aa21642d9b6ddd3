import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

private func importAll() throws {}

@Test func `AdvancedOperation: a subclass has conditions, claims and observers`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let print = Lines()

  final class Import: AdvancedOperation, @unchecked Sendable {
    override func execute() {
      do {
        try importAll()
        finish()
      } catch {
        finish(withError: error)
      }
    }
  }
  let importing = Import()
  importing.addCondition(FileExists("/data/feed.json"))
  importing.addClaim(MutuallyExclusive("database"))
  importing.onFinish { operation, outcome in print(operation, outcome) }
  queue.addOperation(importing)

  simulation.run()
  let outcome = importing.outcome.map { "\($0)" } ?? "none"
  #expect(print.all == ["\(importing) \(outcome)"])
  #expect(!importing.hasStarted)
}

@Test func `hasStarted: an observer distinguishes operations that never executed`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let print = Lines()
  let clock = simulation.environment.clock
  let upload = ResultOperation(name: "upload") { try await clock.sleep(for: .seconds(1)) }
  let report = ResultOperation(name: "report") {}
  report.addDependency(upload)

  for operation in [upload, report] {
    operation.onFinish { operation, _ in
      if !operation.hasStarted { print("\(operation) was left out") }
    }
  }
  queue.addOperations([upload, report])
  simulation.advance(by: .milliseconds(500))
  queue.cancelAllOperations()
  simulation.run()
  #expect(print.all == ["report (cancelled) was left out"])
}

/// Sends until it is told to stop.
private final class Connection: Sendable {
  private let completion = Locked<(@Sendable () -> Void)?>(nil)

  func send(_ file: String, then completion: @escaping @Sendable () -> Void) {
    self.completion.withLock { $0 = completion }
  }

  func abort() { completion.withLock { $0.take() }?() }
}

private let file = "catalogue.csv"

@Test func `CancellationPolicy: a body that has to clean up decides when the operation finishes`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  final class Upload: AdvancedOperation, @unchecked Sendable {
    let connection = Connection()
    override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }
    override func execute() { connection.send(file) { self.finish() } }
    override func cancelled(withErrors errors: [any Error]) { connection.abort() }
  }

  let upload = Upload()
  queue.addOperation(upload)
  simulation.run()
  #expect(upload.state == .executing)
  upload.cancel()
  simulation.run()
  #expect(upload.ending == "cancelled")
}

private func report(_ operation: AdvancedOperation, _ print: Lines) {
  switch operation.outcome {
  case .succeeded: print("done")
  case .failed(let failure), .cancelled(let failure): print(failure)
  case .skipped(let reason): print("nothing to do: \(reason)")
  case nil: print("still going")
  }
}

@Test func `OperationOutcome: there is one answer for each way to end`() {
  struct Holiday: ImmediateCondition {
    func check(_ operation: AdvancedOperation) -> OperationConditionResult {
      .skipped(reason: "a holiday")
    }
  }
  let waiting = AdvancedOperation()
  let succeeding = AdvancedOperation()
  let skipped = AdvancedOperation()
  skipped.addCondition(Holiday())
  let failing = ResultOperation { throw Offline() }
  let cancelled = AdvancedOperation()
  cancelled.cancel(withError: Offline())
  simulate(succeeding, skipped, failing, cancelled)

  let print = Lines()
  for operation in [waiting, succeeding, skipped, failing, cancelled] { report(operation, print) }
  #expect(
    print.all == [
      "still going", "done", "nothing to do: a holiday", "The connection was lost.",
      "cancelled: The connection was lost.",
    ]
  )
}

@Test func `OperationFailure: the description is a tree of errors with their operations`() throws {
  // Below a device, so that there is none on any machine.
  let path = "/dev/null/feed.json"
  let open = AdvancedOperation()
  open.name = "open"
  open.addCondition(FileExists(path))
  let download = ResultOperation(name: "download", retry: .immediate.attempts(2)) {
    throw Offline()
  }
  let followers = (1...9).map { _ in download.then {} }
  let group = GroupOperation {
    open
    download
    followers
  }
  simulate(group)

  let failure = try #require(group.outcome?.failure)
  let tree = """
    child “open”
      condition “file exists”: There is no file at \(path).
    child “download”
      attempt 1: The connection was lost.
      attempt 2: The connection was lost.
    9 others did not run
    """
  #expect("\(failure)" == tree)
}

@Test func `OperationFailure: which operation failed, where, and if it was a timeout`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let stock = AdvancedOperation(name: "stock")
  stock.addCondition(BlockCondition("shop is open") { false })
  let payment = ResultOperation(
    name: "payment",
    retry: .immediate.attempts(2).attemptTimeout(.seconds(5))
  ) {
    if AdvancedOperation.current?.attempt == 2 { throw Offline() }
    try await clock.sleep(until: clock.now + .seconds(60))
  }
  let order = GroupOperation(name: "order") {
    stock
    payment
  }
  AdvancedOperationQueue(environment: simulation.environment).addOperation(order)
  simulation.run()
  let failure = try #require(order.outcome?.failure)

  for element in failure.rootCauses {
    let (name, path) = (element.origin.operation ?? "order", element.origin.path)
    switch element.origin.cause {
    case .timeout: print("“\(name)” took too long: \(path)")
    case .condition: print("“\(name)” was not allowed to execute: \(path)")
    default: print("“\(name)” failed: \(path)")
    }
  }

  #expect(
    print.all == [
      "“stock” was not allowed to execute: [child “stock”, condition “shop is open”]",
      "“payment” took too long: [child “payment”, attempt 1]",
      "“payment” failed: [child “payment”, attempt 2]",
    ]
  )
}

@Test func `OperationFailure.Origin: a path and a cause`() {
  let print = Lines()

  let origin = OperationFailure.Origin.child("payment", .attempt(2, .timeout))
  print(origin)  // child “payment”, attempt 2, timeout
  print(origin.path)  // [child “payment”, attempt 2]
  print(origin.cause)  // timeout
  print(origin.operation ?? "order")  // payment

  #expect(
    print.all == [
      "child “payment”, attempt 2, timeout", "[child “payment”, attempt 2]", "timeout", "payment",
    ]
  )
}

@Test func `OperationOutcome: count the operations of each kind`() {
  let operations = [
    ResultOperation {}, ResultOperation {},
    ResultOperation { throw OperationSkipped(reason: "old") },
  ]
  simulate(operations[0], operations[1], operations[2])
  let outcomes = operations.compactMap(\.outcome)
  let counts = Dictionary(grouping: outcomes, by: \.kind).mapValues(\.count)
  #expect(counts == [.succeeded: 2, .skipped: 1])
}
