import AdvancedOperations
import AdvancedOperationsVisualization
import Observation
import Testing

/// An app whose default isolation is the main actor: what isn't said to be nonisolated is on it.
///
/// Closures, conditions and observers are written as anywhere else; subclasses are `nonisolated`.
private nonisolated final class Import: AdvancedOperation, @unchecked Sendable {
  // Sendable: stored properties don't change.
  let table = "events"
  override func execute() {
    finish()
  }
}

private struct IsAllowed: ImmediateCondition {
  func check(_ operation: AdvancedOperation) -> OperationConditionResult { .satisfied }
}

/// The model of a view, which lives on the main actor.
@Observable private final class Model {
  var lines: [String] = []

  func load(with queue: AdvancedOperationQueue) async throws -> Int {
    let download = ResultOperation(name: "download") { "a\nb" }
    let parse = download.then(name: "parse") { text in text.split(separator: "\n").count }
    parse.addCondition(BlockCondition("open") { true })
    parse.onFinish { parse, _ in
      let line = parse.description
      Task { @MainActor in self.lines.append(line) }
    }
    queue.addOperations([download, parse])
    return try await parse.value
  }
}

@Suite struct `An app on the main actor` {
  @Test func `awaits results in a model`() async throws {
    let model = Model()
    #expect(try await model.load(with: AdvancedOperationQueue()) == 2)
  }

  @Test func `subclasses run off the main actor`() async throws {
    let queue = AdvancedOperationQueue()
    let importing = Import()
    importing.addCondition(IsAllowed())
    importing.addClaim(MutuallyExclusive<Import>())
    importing.addObserver(BlockObserver(didStart: { _ in }))
    queue.addOperation(importing)
    try await importing.untilFinished()
    #expect(importing.outcome?.isSuccess == true)
  }

  @Test func `bodies can come back to the main actor`() async throws {
    let model = Model()
    let operation = ResultOperation { await MainActor.run { model.lines.append("body") } }
    AdvancedOperationQueue().addOperation(operation)
    try await operation.value
    #expect(model.lines == ["body"])
  }

  @Test func `follows attempts and rounds in a model`() async throws {
    let model = Model()
    let queue = AdvancedOperationQueue()
    let breaker = CircuitBreaker(failures: 3)
    let upload = RetryOperation(name: "upload", retry: .immediate.attempts(2)) { attempt in
      let call = ResultOperation { if attempt == 1 { throw CancellationError() } }
      call.addObserver(breaker)
      call.addCondition(CircuitClosed(breaker))
      return call
    }
    let pause = DelayOperation(.milliseconds(1))
    pause.addDependency(upload)
    let poll = RepeatOperation(name: "poll", times: 2) { _ in Import() }
    poll.addDependency(pause)
    model.lines.append(poll.explain().causes.map(\.text).joined())
    let events = poll.events
    queue.addOperations([upload, pause, poll])
    for await event in events {
      switch event {
      case .progress(let update):
        model.lines.append("\(update.completedUnitCount) of \(update.totalUnitCount)")
      case .finished: model.lines.append("done")
      default: break
      }
    }
    #expect(model.lines.suffix(3) == ["1 of 2", "2 of 2", "done"])
    #expect(upload.outcome?.isSuccess == true)
  }

  @Test func `changes a model while its operation has no slot`() async throws {
    let model = Model()
    let queue = AdvancedOperationQueue(maxConcurrentOperationCount: 1)
    let outer = ResultOperation { @MainActor in
      let inner = ResultOperation { "inner" }
      try await releasingSlot { model.lines.append(try await queue.run(inner)) }
      model.lines.append("outer")
    }
    try await queue.run(outer)
    #expect(model.lines == ["inner", "outer"])
  }

  @Test func `changes a model in the body of a scope`() async throws {
    let model = Model()
    let environment = OperationEnvironment(claimDomain: ClaimDomain())
    let pool = ResourcePool(capacity: 1, domain: environment.claimDomain)
    try await withOperations(environment: environment) { scope in
      for number in 1...2 {
        let work = ResultOperation { number }
        work.addClaim(ResourceUnits(1, of: pool))
        work.addClaim(RateLimit("model", 2, per: .seconds(60)))
        model.lines.append("\(try await scope.add(work).value)")
      }
    }
    #expect(model.lines == ["1", "2"])
    let plan = try OperationPlan(durations: [.seconds(1), .seconds(2)])
    #expect(plan.criticalDuration == .seconds(2))
  }
}
