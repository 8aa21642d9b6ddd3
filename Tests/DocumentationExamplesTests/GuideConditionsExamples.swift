import AdvancedOperations
import AdvancedOperationsTesting
import Testing

private func ping(_ host: String) async -> Bool { host == "archive.example" }

private struct Server: Sendable {
  func upload(_ file: String) async throws {}
}

@Test func `Conditions: satisfied, skipped and failed`() async throws {
  let print = Lines()
  let server = Server()

  struct Unreachable: Error, CustomStringConvertible {
    let host: String
    var description: String { "\(host) does not answer." }
  }

  struct Reachable: OperationCondition {
    let host: String
    var name: String { "reachable" }

    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      await ping(host) ? .satisfied : .failed(Unreachable(host: host))
    }
  }

  struct IsNew: ImmediateCondition {
    let file: String
    let uploaded: Set<String>

    func check(_ operation: AdvancedOperation) -> OperationConditionResult {
      uploaded.contains(file) ? .skipped(reason: "\(file) is there already") : .satisfied
    }
  }

  func makeUpload(of file: String, to host: String) -> AdvancedOperation {
    let upload = ResultOperation(name: "upload \(file)") { try await server.upload(file) }
    upload.addCondition(Reachable(host: host))
    upload.addCondition(IsNew(file: file, uploaded: ["b.csv"]))
    return upload
  }

  let uploads = [
    makeUpload(of: "a.csv", to: "archive.example"),
    makeUpload(of: "b.csv", to: "archive.example"),
    makeUpload(of: "c.csv", to: "mirror.example"),
  ]
  let queue = AdvancedOperationQueue()
  queue.addOperations(uploads)
  try await queue.untilAllOperationsAreFinished()
  for upload in uploads { print(upload.explain()) }

  try expectShown(print, in: "GuardingWithConditions")

  // What the page says of the one that failed, seen from outside.
  let failed = uploads[2]
  #expect(failed.errors.count == 1)
  let error = try #require(failed.errors.first as? OperationConditionError)
  #expect(error.condition == "reachable")
  #expect(error.underlying is Unreachable)
  #expect(failed.outcome?.failure?.first(Unreachable.self)?.host == "mirror.example")
}

/// A session that is valid when the user has signed in, unless the user refuses.
private actor Session {
  private(set) var isValid = false
  private(set) var signInCount = 0
  private let isRefused: Bool

  init(isRefused: Bool = false) { self.isRefused = isRefused }

  func signIn() throws {
    signInCount += 1
    if isRefused { throw SignInRefused() }
    isValid = true
  }
}

private struct SignInRefused: Error, CustomStringConvertible {
  let description = "The user has refused."
}

@Test func `Conditions: a condition is satisfied by its prerequisite`() async throws {
  struct NotSignedIn: Error, CustomStringConvertible {
    let description = "The user isn't signed in."
  }

  struct SignedIn: OperationCondition {
    let session: Session

    func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
      let signIn = ResultOperation(name: "sign in") {
        if await session.isValid { throw OperationSkipped(reason: "there is a session") }
        try await session.signIn()
      }
      // Of several that need it, the first one signs in, and the others find the session.
      signIn.addClaim(MutuallyExclusive("sign in"))
      return signIn
    }

    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      await session.isValid ? .satisfied : .failed(NotSignedIn())
    }
  }

  let guarded = AdvancedOperation()
  guarded.addCondition(SignedIn(session: Session()))
  simulate(guarded)
  #expect(guarded.ending == "succeeded")
  #expect(guarded.dependencies.isEmpty)

  let silent = AdvancedOperation()
  silent.addCondition(SilentCondition(SignedIn(session: Session())))
  simulate(silent)
  #expect(silent.outcome?.failure?.first(NotSignedIn.self) != nil)

  // One after the other: the prerequisite runs only if the server can be reached.
  struct Reachable: OperationCondition {
    let host: String
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      await ping(host) ? .satisfied : .failed(Offline())
    }
  }
  let server = Server()
  let session = Session(isRefused: true)
  let print = Lines()

  let upload = ResultOperation(name: "upload") { try await server.upload("d.csv") }
  upload.addCondition(Reachable(host: "archive.example"))
  upload.addCondition(SignedIn(session: session))
  upload.conditionPolicy = .stopAtFirstFailure

  let notify = ResultOperation(name: "notify") {}
  notify.addDependency(upload)
  upload.onFinish { upload, outcome in
    guard let failure = outcome.failure else { return }
    print("upload: \(failure.summary())")
    notify.cancel(withError: failure)
  }

  simulate(upload, notify)
  try expectShown(print, in: "GuardingWithConditions")
  let explanation = Lines()
  explanation(upload.explain())
  try expectShown(explanation, in: "GuardingWithConditions")
  #expect(notify.outcome?.isCancelled == true && !notify.hasStarted)
  #expect(notify.outcome?.failure?.first(NotSignedIn.self) != nil)

  for (policy, count) in [
    (AdvancedOperation.ConditionPolicy.evaluateAll, 1), (.stopAtFirstFailure, 0),
  ] {
    let session = Session()
    let unreachable = AdvancedOperation()
    unreachable.addCondition(Reachable(host: "mirror.example"))
    unreachable.addCondition(SignedIn(session: session))
    unreachable.conditionPolicy = policy
    simulate(unreachable)
    #expect(unreachable.outcome?.failure?.first(Offline.self) != nil)
    #expect(await session.signInCount == count)
  }
  let sessionOfPart = Session()
  let both = AdvancedOperation()
  both.addCondition(Reachable(host: "mirror.example") && SignedIn(session: sessionOfPart))
  simulate(both)
  #expect(both.outcome?.isFailed == true)
  #expect(await sessionOfPart.signInCount == 1)
}

@Test func `Conditions: a prerequisite that failed doesn't decide`() {
  struct Helped: OperationCondition {
    func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
      ResultOperation { throw Offline() }
    }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult { .satisfied }
  }
  let operation = AdvancedOperation()
  operation.addCondition(Helped())
  simulate(operation)
  #expect(operation.ending == "succeeded")
}

@Test func `Conditions: a suspended queue evaluates nothing, one without a slot does`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let evaluated = Lines()
  let operation = AdvancedOperation()
  operation.addCondition(
    BlockCondition("noted") {
      evaluated("once")
      return true
    }
  )

  queue.isSuspended = true
  queue.addOperation(operation)
  simulation.run()
  #expect(evaluated.all.isEmpty)

  queue.maxConcurrentOperationCount = 0
  queue.isSuspended = false
  simulation.run()
  #expect(evaluated.all == ["once"])
  #expect(operation.state == .ready)

  queue.maxConcurrentOperationCount = 1
  simulation.run()
  #expect(evaluated.all == ["once"])
  #expect(operation.ending == "succeeded")
}

@Test func `Conditions: observers of an operation with a failed condition receive its end only`() {
  let recorder = RecordingObserver()
  let operation = ResultOperation(name: "operation") {}
  operation.addObserver(recorder)
  operation.addCondition(BlockCondition("online") { false })
  let value = operation.then(name: "value") { _ in }
  let dependent = AdvancedOperation()
  dependent.addDependency(operation)

  simulate(operation, value, dependent)
  #expect(recorder.events.count == 3)  // enqueued, will finish, finished
  #expect(
    value.ending == """
      failed
        dependency “operation”
          condition “online”: The closure returned false.
      """
  )
  #expect(dependent.ending == "succeeded")
}

@Test(arguments: [true, false])
func `Guarding: a condition that wraps another skips the operation`(exists: Bool) {
  /// Skips the operation where the wrapped condition would fail it.
  struct SkippedUnless: OperationCondition {
    let condition: any OperationCondition

    var name: String { condition.name }

    func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
      condition.immediateResult(for: operation).map(skipping)
    }

    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      skipping(await condition.evaluate(for: operation))
    }

    private func skipping(_ result: OperationConditionResult) -> OperationConditionResult {
      if case .failed(let error) = result { .skipped(reason: "\(error)") } else { result }
    }
  }

  let conditions: [any OperationCondition] = [
    FileExists(exists ? "/" : "/no/such/folder"), BlockCondition { exists },
  ]
  for condition in conditions {
    let clean = AdvancedOperation(name: "clean")
    clean.addCondition(SkippedUnless(condition: condition))
    simulate(clean)
    #expect(clean.outcome?.kind == (exists ? .succeeded : .skipped))
  }
}

@Test func `Conditions: a gate that is closed and opened`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let server = Server()

  let network = Gate("network", isOpen: false)
  let upload = ResultOperation(name: "upload") { try await server.upload("a.csv") }
  upload.addCondition(network)
  queue.addOperation(upload)

  network.close(reason: "flight mode")
  simulation.advance(by: .seconds(90))
  print(upload.explain())

  network.open()
  simulation.run()
  print(upload.explain())

  try expectShown(print, in: "GuardingWithConditions")
}

private actor Battery {
  var isCharging = false
}

@Test func `Conditions: a condition that waits for at most an hour`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let battery = Battery()
  let backup = ResultOperation(name: "backup") {}

  let power = Gate("power")
  let isCharging = BlockCondition("charging") { await battery.isCharging }
  backup.addCondition(isCharging.waiting(for: power, atMost: .seconds(3_600)))

  queue.addOperation(backup)
  simulation.run()
  #expect(simulation.now == .seconds(3_600))
  #expect(backup.outcome?.failure?.first(BlockCondition.NotSatisfied.self) != nil)
}
