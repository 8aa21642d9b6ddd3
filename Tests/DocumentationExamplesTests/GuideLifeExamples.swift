import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Foundation
import Testing

@Test func `The life of an operation: every state, one after the other`() throws {
  let print = Lines()

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  let backup = ResultOperation(name: "backup") { try await clock.sleep(for: .seconds(6)) }
  backup.addClaim(MutuallyExclusive("database"))

  let download = ResultOperation(name: "download") { try await clock.sleep(for: .seconds(2)) }
  let store = download.then(name: "store") { _ in try await clock.sleep(for: .seconds(2)) }
  let online = BlockCondition("online") {
    try await clock.sleep(for: .seconds(2))
    return true
  }
  store.addCondition(online)
  store.addClaim(MutuallyExclusive("database"))

  queue.addOperations([backup, download, store])
  for second in [1, 3, 5, 7, 9] {
    simulation.run(until: .seconds(second))
    print("\(second) s: \(store)")
  }

  try expectShown(print, in: "LifeOfAnOperation")
  #expect(store.state == .finished)
}

/// What the table of properties says, seen by an observer.
@Test func `The life of an operation: what observers find`() {
  let found = Lines()
  @Sendable func note(_ event: String, _ operation: AdvancedOperation) {
    let flags = [operation.isReady, operation.isExecuting, operation.isFinished]
    let hasOutcome = operation.outcome != nil
    found(
      event,
      operation.state,
      flags.map { $0 ? "yes" : "no" }.joined(separator: " "),
      hasOutcome
    )
  }
  let first = ResultOperation(name: "first") {}
  let operation = first.then(name: "operation") { _ in note("body", AdvancedOperation.current!) }
  operation.addCondition(
    BlockCondition("any") {
      note("condition", AdvancedOperation.current!)
      return true
    }
  )
  operation.addObserver(
    BlockObserver(
      didEnqueue: { note("enqueued", $0) },
      didStart: { note("started", $0) },
      willFinish: { operation, _ in note("will finish", operation) },
      didFinish: { operation, _ in note("did finish", operation) }
    )
  )
  simulate(first, operation)
  note("afterwards", operation)
  #expect(
    found.all == [
      "enqueued pending no no no false",
      "condition evaluatingConditions no no no false",
      "started executing yes yes no false",
      "body executing yes yes no false",
      "will finish finishing yes yes no true",
      "did finish finishing yes yes no true",
      "afterwards finished yes no yes true",
    ]
  )
}

@Test func `The life of an operation: calls are refused that come too early or too late`() throws {
  let operation = ResultOperation(name: "done") {}
  #expect(throws: OperationProduceError.self) { try operation.produce(AdvancedOperation()) }
  simulate(operation)

  let seen = Lines()
  operation.onFinish { operation, _ in seen(operation) }
  #expect(seen.all == ["done (succeeded)"])
  operation.cancel()
  operation.finish()
  #expect(!operation.isCancelled && operation.ending == "succeeded")
  #expect(throws: OperationProduceError.self) { try operation.produce(AdvancedOperation()) }
  let late = AdvancedOperation()
  operation.addDependency(late)
  #expect(operation.dependencies == [late])
}

@Test func `The life of an operation: an operation is started manually, without a queue`() {
  let operation = AdvancedOperation(name: "by hand")
  operation.start()
  #expect(operation.isFinished)
}

@Test func `The life of an operation: the drawing differs in the dark by its colours only`() throws
{
  let drawings = try ["", "~dark"].map { try picture("life-of-an-operation" + $0) }
  let shapes = drawings.map { drawing in
    drawing.components(separatedBy: "<style>").map { part in
      part.components(separatedBy: "</style>").last ?? ""
    }
  }
  #expect(shapes[0] == shapes[1])
  #expect(drawings[0] != drawings[1])
}
