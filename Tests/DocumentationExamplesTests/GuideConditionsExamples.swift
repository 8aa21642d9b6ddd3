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

/// A session that is valid once somebody has signed in.
private actor Session {
  private(set) var isValid = false
  func signIn() { isValid = true }
}

private struct SignInRefused: Error {}

@Test func `Conditions: a prerequisite makes one hold`() {
  struct SignedIn: OperationCondition {
    let session: Session

    func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
      let signIn = ResultOperation(name: "sign in") {
        if await session.isValid { throw OperationSkipped(reason: "there is a session") }
        await session.signIn()
      }
      // Of several that need it, the first one signs in, and the others find the session.
      signIn.addClaim(MutuallyExclusive("sign in"))
      return signIn
    }

    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      await session.isValid ? .satisfied : .failed(SignInRefused())
    }
  }

  let upload = AdvancedOperation()
  upload.addCondition(SignedIn(session: Session()))
  simulate(upload)
  #expect(upload.ending == "succeeded")
  #expect(upload.dependencies.isEmpty)

  let silent = AdvancedOperation()
  silent.addCondition(SilentCondition(SignedIn(session: Session())))
  simulate(silent)
  #expect(silent.outcome?.failure?.first(SignInRefused.self) != nil)
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

@Test func `Conditions: observers of a failed one see its end only`() {
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
