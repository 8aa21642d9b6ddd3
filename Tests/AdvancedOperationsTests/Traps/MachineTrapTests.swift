import AdvancedOperations
import AdvancedTestSupport
import TestSupport
import Testing

/// States that can't be end the process and print themselves.
@Suite(.watched) struct `Impossible events of the state machine trap` {
  @Test func `results of conditions before the evaluation trap`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      var machine = Machine()
      _ = machine.verdictsArrived(.satisfied)
    }
    try expectInternalError("conditions answered before they were evaluated", in: result)
  }

  @Test func `a review during the evaluation traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      var machine = Place.evaluating.machine
      _ = machine.reviewed(.satisfied)
    }
    try expectInternalError("a claim was requested while conditions were evaluated", in: result)
  }

  @Test func `didStart of an operation that hasn't started traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      var machine = Place.ready.machine
      _ = machine.launchDue()
    }
    try expectInternalError("did-start is due in ready", in: result)
  }

  @Test func `didFinish of an operation that hasn't ended traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      var machine = Place.launched.machine
      machine.didFinishNotified()
    }
    try expectInternalError("did-finish was notified in the state executing", in: result)
  }

  @Test func `didFinish before willFinish traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      var machine = Place.finishing.machine
      machine.didFinishNotified()
    }
    try expectInternalError("did-finish was notified in the state finishing", in: result)
  }

  @Test func `willFinish of an operation that hasn't ended traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      var machine = Place.launched.machine
      machine.willFinishNotified()
    }
    try expectInternalError("will-finish was notified in the state executing", in: result)
  }
}
