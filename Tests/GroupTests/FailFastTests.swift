import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `A group that fails fast` {
  private static func reason(_ operation: Operation) -> GroupOperation.SiblingFailed? {
    operation.cancellationReason as? GroupOperation.SiblingFailed
  }

  @Test(arguments: seeds)
  func `failFast cancels the other children with a reason that names the failed child`(
    seed: UInt64
  ) throws {
    let world = World(seed: seed)
    let others = [Work.open("executing"), Work("waiting")]
    let failing = Work.failing("failing")
    failing.addDependency(world.taking(5, "first"))
    others[1].addDependency(failing)
    let group = GroupOperation(name: "group", errorPolicy: .failFast) {
      failing.dependencies
      failing
      others
    }
    world.run(group)
    for other in others {
      let reason = try #require(Self.reason(other))
      #expect(reason.sibling == "failing")
      #expect(reason.failure.first(Flaw.self) == Flaw(1))
      #expect("\(reason)" == "“failing”, of the same group, failed.")
      #expect(other.outcome?.failure?.errors.count == 1)
      guard case .parent(let given) = other.outcome?.failure?.cancellation else {
        Issue.record("\(String(describing: other.outcome))")
        return
      }
      #expect(given is GroupOperation.SiblingFailed)
    }
    #expect(group.origins == [.child("failing", .body)])
    #expect(group.kind == .failed)
  }

  @Test(arguments: seeds)
  func `failFast counts children that didn't run including plain operations`(seed: UInt64) {
    let world = World(seed: seed)
    let executing = Work.open("executing")
    let plain = BlockOperation {}
    let never = (0..<3).map { Work("never \($0)") }
    let failing = Work.failing("failing")
    failing.addDependency(world.taking(5, "first"))
    for operation in never + [plain] { operation.addDependency(failing) }
    let inner = GroupOperation(name: "inner") { Work("inside") }
    inner.addDependency(failing)
    let group = GroupOperation(name: "group", errorPolicy: .failFast) {
      failing.dependencies
      executing
      failing
      never
      plain
      inner
    }
    world.run(group)
    #expect(group.outcome?.failure?.notRunCount == 5)
    #expect(group.outcome?.description.hasSuffix("5 others did not run") == true)
    #expect(plain.isCancelled)
  }

  @Test func `failFast counts a child that is added too late once`() {
    let world = World()
    let open = Work("open", policy: .whenFinishIsCalled) { _ in }
    let failing = Work.failing("failing")
    let group = GroupOperation(name: "group", errorPolicy: .failFast) {
      open
      failing
    }
    world.run(group)
    let late = [Work("late"), BlockOperation {}] as [Operation]
    for operation in late { #expect(!group.addOperation(operation)) }
    world.simulation.run()
    #expect(Self.reason(late[0])?.sibling == "failing")
    open.finish()
    world.simulation.run()
    #expect(group.outcome?.failure?.notRunCount == 2)
  }

  @Test func `failFast cancels siblings if the first child was cancelled`() {
    let world = World()
    let (cancelled, other) = (Work.open("cancelled"), Work.open("other"))
    let group = GroupOperation(name: "group", errorPolicy: .failFast) {
      cancelled
      other
    }
    world.run(group)
    cancelled.cancel(withError: Flaw(1))
    world.simulation.run()
    #expect(Self.reason(other).map { "\($0)" } == "“cancelled”, of the same group, was cancelled.")
    #expect(group.origins == [.child("cancelled", .cancel)])
    #expect(group.outcome?.failure?.isCancellation == true)
    #expect(group.outcome?.failure?.notRunCount == 0)
  }

  @Test func `a cancelled failFast group counts no child as not run`() {
    let world = World()
    let open = Work.open("open", policy: .whenFinishIsCalled)
    let never = Work("never")
    never.addDependency(open)
    let group = GroupOperation(name: "group", errorPolicy: .failFast) {
      open
      never
    }
    world.run(group)
    group.cancel(withError: Flaw(1))
    open.finish(withError: Flaw(2))
    world.simulation.run()
    #expect(group.kind == .cancelled)
    #expect(group.flawNumbers == [1, 2])
    #expect(group.outcome?.failure?.notRunCount == 0)
    #expect(never.cancellationReason as? Flaw == Flaw(1))
  }

  @Test func `the failure that cancelled a sibling is found by its type`() throws {
    let world = World()
    let (broken, other) = (Work.failing("broken", 7), Work.open("other"))
    let group = GroupOperation(name: "group", errorPolicy: .failFast) {
      broken
      other
    }
    let after = Work("after")
    after.addDependency(other)
    after.addCondition(.allSucceeded)
    world.run(group, after)
    let failure = try #require(other.outcome?.failure)
    #expect(failure.first(Flaw.self) == Flaw(7))
    #expect(failure.rootCauses.map { $0.error as? Flaw } == [Flaw(7)])
    #expect(failure.description == "cancelled: “broken”, of the same group, failed.")
    #expect(failure.isCancellation && !failure.isTimeout)
    #expect(after.outcome?.failure?.first(Flaw.self) == Flaw(7))
    #expect(after.outcome?.failure?.isCancellation == true)
  }

  @Test func `the cause of a cancelled sibling names the failed child`() {
    let world = World()
    let (failing, other) = (Work.failing("failing"), Work.open("other"))
    world.run(
      GroupOperation(name: "group", errorPolicy: .failFast) {
        other
        failing
      }
    )
    let causes = other.outcome?.failure?.rootCauses ?? []
    #expect(causes.map(\.origin) == [.operation("failing", .body)])
    #expect(causes.map(\.origin.operation) == ["failing"])
  }
}
