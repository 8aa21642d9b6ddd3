import AdvancedOperations
import AdvancedTestSupport
import Testing

/// The one terminal answer: cancelled wins, then errors, then skipped; the first finish decides.
@Suite struct `The rules of the outcome` {
  private static func executing(_ steps: (inout Machine) -> Void = { _ in }) -> Machine {
    var machine = Place.launched.machine
    steps(&machine)
    return machine
  }

  @Test func `an operation without errors has succeeded`() {
    var machine = Self.executing()
    _ = machine.decide([])
    #expect(machine.outcome?.kind == .succeeded)
    #expect(machine.outcome?.isSuccess == true)
    #expect(machine.outcome?.failure == nil)
  }

  @Test func `an operation with body errors has failed with them in order`() {
    var machine = Self.executing()
    _ = machine.decide([.body(2), .body(1)])
    #expect(machine.outcome?.kind == .failed)
    #expect(flaws(machine.outcome?.failure?.errors ?? []) == [2, 1])
  }

  @Test func `a cancel overrides errors and its reasons are first`() {
    var machine = Self.executing { machine in
      _ = machine.cancelCalled(reason: .reason(1), policy: .whenFinishIsCalled)
      _ = machine.cancelCalled(reason: .reason(2), policy: .whenFinishIsCalled)
    }
    _ = machine.decide([.body(3)])
    #expect(machine.outcome?.kind == .cancelled)
    #expect(flaws(machine.outcome?.failure?.errors ?? []) == [1, 2, 3])
  }

  @Test func `a cancel overrides a failed condition`() {
    var machine = Place.readyFailed.machine
    _ = machine.cancelCalled(reason: .reason(2), policy: .finishImmediately)
    _ = machine.turnCame()
    #expect(machine.outcome?.kind == .cancelled)
    #expect(machine.flawNumbers == [1, 2])
  }

  @Test func `a cancel overrides a skip`() {
    var machine = Place.readySkipped.machine
    _ = machine.cancelCalled(reason: nil, policy: .finishImmediately)
    _ = machine.turnCame()
    #expect(machine.outcome?.kind == .cancelled)
    #expect(machine.elements.isEmpty)
  }

  @Test func `errors of conditions override a skip`() {
    var machine = Place.readySkipped.machine
    _ = machine.reviewed(.failed([.condition(4)]))
    _ = machine.turnCame()
    #expect(machine.outcome?.kind == .failed)
    #expect(machine.flawNumbers == [4])
  }

  @Test func `the first reason of two skips applies`() {
    var machine = Place.readySkipped.machine
    _ = machine.reviewed(.skipped(reason: "late"))
    _ = machine.turnCame()
    guard case .skipped(let reason) = machine.outcome else {
      Issue.record("\(String(describing: machine.outcome))")
      return
    }
    #expect(reason == "no need")
  }

  @Test func `a late CancellationError adds nothing to a cancel`() {
    var machine = Self.executing { machine in
      _ = machine.cancelCalled(reason: .reason(1), policy: .whenFinishIsCalled)
    }
    _ = machine.decide([
      .init(origin: .body, error: CancellationError()), .body(2),
      .init(origin: .attempt(2, .body), error: CancellationError()),
    ])
    #expect(machine.flawNumbers == [1, 2])
  }

  @Test func `a CancellationError without a cancel is an error like others`() {
    var machine = Self.executing()
    _ = machine.decide([.init(origin: .body, error: CancellationError())])
    #expect(machine.outcome?.kind == .failed)
    #expect(machine.elements.count == 1)
  }

  @Test func `the first of two finishes decides the outcome`() {
    var machine = Self.executing()
    let first = machine.decide([.body(1)])
    let second = machine.decide([])
    let cancel = machine.cancelCalled(reason: .reason(2), policy: .finishImmediately)
    #expect(first == .decided)
    #expect(second == .ignore)
    #expect(cancel == .ignore)
    #expect(machine.outcome?.kind == .failed)
    #expect(machine.flawNumbers == [1])
    #expect(!machine.isCancelled)
  }

  @Test func `a failure counts operations that didn't run because of it`() {
    var machine = Self.executing()
    _ = machine.decide([.body(1)], notRunCount: 9)
    #expect(machine.outcome?.failure?.notRunCount == 9)
  }
}
