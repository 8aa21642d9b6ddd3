import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

private enum Step: Hashable { case send(order: Int), archive }

/// Reads the operation that it is the tag of when it is released.
private final class Reading: Hashable, Sendable {
  let operation: Operation
  let read: Log<String?>

  init(_ operation: Operation, _ read: Log<String?>) {
    self.operation = operation
    self.read = read
  }

  deinit { read.add(operation.tag.map { "\($0)" }) }

  static func == (a: Reading, b: Reading) -> Bool { a === b }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

@Suite struct `A tag` {
  private typealias Origin = OperationFailure.Origin

  /// An operation with a tag that fails.
  private static func send(_ order: Int = 7) -> ResultOperation<Int> {
    let send = ResultOperation(name: "send") { () async throws -> Int in throw Flaw(order) }
    send.tag = Step.send(order: order)
    return send
  }

  private func sent(_ operation: AdvancedOperation) -> [Step?] {
    operation.outcome?.failure?.rootCauses.map { $0.origin.operation?.tag as? Step } ?? []
  }

  @Test func `a tag can be set and removed`() {
    let plain = BlockOperation {}
    #expect(plain.tag == nil)
    plain.tag = nil
    plain.tag = Step.archive
    #expect(plain.tag as? Step == .archive)
    plain.tag = 7
    #expect(plain.tag as? Int == 7)
    plain.tag = nil
    #expect(plain.tag == nil)
  }

  @Test func `a tag is released without the lock of its operation`() {
    let operation = Operation()
    let read = Log<String?>()
    operation.tag = Reading(operation, read)
    operation.tag = "new"
    #expect(read.entries == ["new"])
  }

  @Test func `a tag is part of the errors of children, inputs and awaited operations`() {
    let world = World()
    let group = GroupOperation(name: "group") { Self.send(1) }
    let input = Self.send(2)
    let after = input.then(name: "after") { $0 }
    let guarded = Work("guarded")
    guarded.addDependency(input)
    guarded.addCondition(.allSucceeded)
    let awaited = Self.send(3)
    let awaiting = ResultOperation(name: "awaiting") { try await awaited.value }
    world.run(group, input, after, guarded, awaited, awaiting)
    #expect(sent(group) == [.send(order: 1)])
    #expect(sent(after) == [.send(order: 2)])
    #expect(sent(guarded) == [.send(order: 2)])
    #expect(sent(awaiting) == [.send(order: 3)])
    #expect(sent(input) == [nil])
    let label = OperationLabel("send", tag: Step.send(order: 1))
    #expect(group.outcome?.failure?.elements.map(\.origin) == [.child(label, .body)])
  }

  @Test func `a sibling's cancellation reason includes the tag of the failed child`() throws {
    let world = World(limit: 1)
    let late = Work.open("late")
    let group = GroupOperation(errorPolicy: .failFast) {
      Self.send()
      late
    }
    world.run(group)
    let reason = try #require(late.cancellationReason as? GroupOperation.SiblingFailed)
    #expect(reason.sibling == OperationLabel("send", tag: Step.send(order: 7)))
    #expect("\(reason)".hasPrefix("“send”, of the same group, failed"))
  }

  @Test func `progress, explanations and graphs include the tag`() {
    let world = World()
    let progress = ProgressObserver()
    let work = Work.open("work")
    work.tag = Step.archive
    work.addObserver(progress)
    world.run(work)
    #expect(progress.executing == [OperationLabel("work", tag: Step.archive)])
    #expect(world.queue.graph.nodes.map { $0.tag as? Step } == [.archive])
    #expect(work.explain().causes.map { $0.operation.tag as? Step } == [.archive])
    work.finish()
    world.simulation.run()
  }

  @Test func `tags distinguish labels of equal names`() {
    let labels: [OperationLabel] = [
      "a", "b", OperationLabel("a", tag: 1), OperationLabel("a", tag: 2),
      OperationLabel("a", tag: "1"), OperationLabel("a", tag: Step.archive),
    ]
    #expect(Set(labels).count == labels.count)
    #expect(labels[0] == OperationLabel("a"))
    #expect(labels[2] == OperationLabel("a", tag: 1))
    #expect(labels.map(\.description) == ["a", "b", "a", "a", "a", "a"])
  }
}
