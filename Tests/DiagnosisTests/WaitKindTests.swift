import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

/// One situation for each kind of wait that there is.
///
/// A new kind compiles here only with a name and with a situation.
@Suite(.watched) struct `Each kind of wait` {
  private enum Name: CaseIterable {
    case dependencies, code, enqueueing, resumption, barrier, slot, readiness, worker, mainThread
    case prerequisite, parent, claim, change, children

    init(_ kind: Wait.Kind) {
      self =
        switch kind {
        case .dependencies: .dependencies
        case .code: .code
        case .enqueueing: .enqueueing
        case .resumption: .resumption
        case .barrier: .barrier
        case .slot: .slot
        case .readiness: .readiness
        case .worker: .worker
        case .mainThread: .mainThread
        case .prerequisite: .prerequisite
        case .parent: .parent
        case .claim: .claim
        case .change: .change
        case .children: .children
        }
    }
  }

  private final class NeverReady: Operation, @unchecked Sendable {
    override var isReady: Bool { false }
  }

  private let world = World()
  private let other = Work.open("other")
  private let group = GroupOperation(name: "other")

  /// Has an operation wait in a certain way.
  ///
  /// - Returns: The operation, and how its explanation says so.
  ///   That the main thread is blocked can't be simulated: see `PlainExplanationTests`.
  private func situation(_ name: Name) -> (operation: Operation, words: String) {
    let work = Work("work")
    let queue = world.queue
    queue.name = "main"
    queue.maxConcurrentOperationCount = name == .slot ? 1 : 4
    let added: [Operation]
    let words: String
    switch name {
    case .enqueueing, .mainThread: return (work, "isn't in a queue")
    case .dependencies:
      work.addDependency(other)
      return (work, "waits for other")
    case .resumption:
      queue.isSuspended = true
      added = [work]
      words = "waits for queue “main” to be resumed"
    case .worker:
      queue.addOperation(work)
      return (work, "waits for a worker of queue “main”")
    case .slot:
      added = [other, work]
      words = "waits for a slot of queue “main”, whose limit of 1 is used up by other"
    case .barrier:
      queue.addOperation(other)
      queue.addBarrierBlock {}
      added = [work]
      words = "waits behind a barrier of queue “main”, which waits for other"
    case .readiness:
      let work = NeverReady()
      queue.addOperation(work)
      world.simulation.run()
      return (work, "is not ready")
    case .code:
      let other = other
      let work = ResultOperation { try await other.untilFinished() }
      queue.addOperations([other, work])
      world.simulation.run()
      return (work, "has code that waits for other")
    case .prerequisite:
      let other = other
      work.addCondition(Asked("asked", prerequisite: { _ in other }))
      added = [work]
      words = "needs other for condition “asked”"
    case .parent:
      let child = Work("child")
      group.addOperation(child)
      return (child, "is a child of other, which has not started")
    case .claim:
      for operation in [other, work] { operation.addClaim(MutuallyExclusive("db")) }
      added = [other, work]
      words = "waits for “db”, which other holds"
    case .change:
      let gate = Gate("network")
      let holder = Work.open("holder")
      queue.maxConcurrentOperationCount = 1
      work.addCondition(gate)
      queue.addOperations([holder, work])
      world.simulation.run()
      gate.close(reason: "offline")
      holder.finish()
      world.simulation.run()
      return (work, "waits for gate “network”: offline")
    case .children:
      let other = other
      let group = GroupOperation(name: "group") { other }
      queue.addOperation(group)
      world.simulation.run()
      return (group, "waits for its children other")
    }
    queue.addOperations(added)
    world.simulation.run()
    return (work, words)
  }

  @Test(arguments: Name.allCases.filter { $0 != .mainThread })
  private func `each kind of wait is found, explained and part of cycles`(
    name: Name
  ) throws {
    let (operation, words) = situation(name)
    let advanced = operation as? AdvancedOperation
    let waits =
      operation.currentWaits
      + Wait.Part.allCases.flatMap { advanced?.layerWaits($0) ?? [] }
    let wait = try #require(waits.first { Name($0.kind) == name })
    #expect(wait.isCurrent)
    #expect(wait.operations.map(\.label) == (wait.needs.isEmpty ? [] : ["other"]))
    switch name {
    case .enqueueing, .resumption, .readiness, .worker, .mainThread, .change:
      #expect(wait.needs.isEmpty)
    case .dependencies, .code, .barrier, .slot, .prerequisite, .parent, .claim, .children:
      #expect(!wait.needs.isEmpty)
    }
    #expect(operation.explain().causes.map(\.text).contains { $0.hasPrefix(words) })
    // What is waited for says itself what it needs.
    for cause in operation.explain().causes where !cause.involved.isEmpty {
      #expect(cause.remedy == nil)
    }
    // What the core says is the same, but for what only the layer knows.
    let causes = operation.waitCauses.map(\.description)
    if let cause = wait.cause { #expect(causes.contains(cause.description)) }
    operation.cancel()
    world.queue.isSuspended = false
    world.simulation.run()
    world.finishAll([other])
  }

  @Test func `a wait for a condition's answer is a cause in the core too`() {
    let work = Work("work")
    work.addCondition(world.askedFor(3600))
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(1))
    #expect(work.waitCauses.map(\.description) == ["is not ready"])
    world.simulation.run()
    #expect(work.waitCauses.isEmpty)
  }
}
