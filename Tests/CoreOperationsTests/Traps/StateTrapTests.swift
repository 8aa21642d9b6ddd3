import TestSupport
import Testing

@testable import CoreOperations

/// States that can't be: they end the process and print themselves.
@Suite(.watched) struct `Impossible states trap` {
  @Test(arguments: ["created", "executing", "ended"])
  func `a queue's start of what it can't start`(phase: String) async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [phase = phase as String] in
      let phases = OperationLife.Phase.allCases
      guard let phase = phases.first(where: { "\($0)" == phase }) else { return }
      var life = OperationLife().with(phase: phase)
      _ = life.turnCame()
    }
    try expectMessage("a queue started an operation in the phase \(phase)", in: result)
  }

  @Test(arguments: ["created", "enqueued", "started", "ended"])
  func `a return of main that was not called`(phase: String) async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [phase = phase as String] in
      let phases = OperationLife.Phase.allCases
      guard let phase = phases.first(where: { "\($0)" == phase }) else { return }
      var life = OperationLife().with(phase: phase)
      _ = life.mainReturned()
    }
    try expectMessage("main() returned in the phase \(phase)", in: result)
  }

  @Test func `a dependency that was not counted`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      var readiness = OperationReadiness()
      _ = readiness.dependencyResolved()
    }
    try expectMessage("a dependency was resolved that had not been counted", in: result)
  }
}
