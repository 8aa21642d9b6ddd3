import TestSupport
import Testing

@testable import CoreOperations

/// States that can't be: they end the process and print themselves.
@Suite(.watched) struct `Impossible states trap` {
  @Test(arguments: ["created", "executing", "ended"])
  func `a queue's start of an unstartable operation traps`(phase: String) async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [phase = phase as String] in
      let phases = OperationLife.Phase.allCases
      guard let phase = phases.first(where: { "\($0)" == phase }) else { return }
      var life = OperationLife().with(phase: phase)
      _ = life.turnCame()
    }
    try expectInternalError("a queue started an operation in the phase \(phase)", in: result)
  }

  @Test(arguments: ["created", "enqueued", "started", "ended"])
  func `a return of main without its call traps`(phase: String) async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [phase = phase as String] in
      let phases = OperationLife.Phase.allCases
      guard let phase = phases.first(where: { "\($0)" == phase }) else { return }
      var life = OperationLife().with(phase: phase)
      _ = life.mainReturned()
    }
    try expectInternalError("main() returned in the phase \(phase)", in: result)
  }

  @Test func `resolving an uncounted dependency traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      var readiness = OperationReadiness()
      _ = readiness.dependencyResolved()
    }
    try expectInternalError("a dependency was resolved that had not been counted", in: result)
  }
}
