import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

@Suite(.watched) struct `Why isn't it running, in a cycle` {
  @Test func `unqueued operations that wait for each other are explained as a cycle`() {
    let (a, b, c) = (Work("a"), Work("b"), Work("c"))
    a.addDependency(b)
    b.addDependency(c)
    c.addDependency(a)
    for work in [a, b, c] {
      let explanation = work.explain()
      #expect(explanation.rootCauses.map(\.kind) == [.cycle])
      #expect(Set(explanation.rootCauses[0].involved) == [a, b, c])
    }
    #expect(
      text(a) == """
        a waits for b; isn't in a queue
          a waits in a cycle: a → b → c → a
        needed: one of the waits a → b → c → a has to be removed
        """
    )
    c.removeDependency(a)
    #expect(a.explain().rootCauses.map(\.kind) == [.notEnqueued])
    #expect(a.explain().rootCauses.map(\.operations) == [[a, b, c]])
  }

  @Test func `an operation that waits behind a cycle is explained by the cycle`() {
    let world = World()
    let (a, b, after) = (Work("a"), Operation(), Work("after"))
    b.name = "b"
    a.addDependency(b)
    b.addDependency(a)
    after.addDependency(a)
    let explanation = after.explain()
    #expect(explanation.path.map(\.kind) == [.dependency, .cycle])
    #expect(explanation.rootCauses.map(\.kind) == [.cycle, .notEnqueued])
    world.run(after)
    #expect(
      text(after) == """
        after waits for a
          a waits in a cycle: a → b → a
        needed: one of the waits a → b → a has to be removed
        """
    )
    b.removeDependency(a)
    world.run(a, b)
    #expect(after.kind == .succeeded)
  }

  @Test func `an unqueued child, its group and the group's dependency are a cycle`() {
    let (child, before) = (Work("child"), Work("before"))
    let group = GroupOperation(name: "group") { child }
    group.addDependency(before)
    before.addDependency(child)
    for operation in [child, before, group] {
      #expect(operation.explain().rootCauses.map(\.kind) == [.cycle], "\(operation)")
    }
  }

  @Test func `a child that waits for its group's dependent is explained as a cycle`() {
    let (child, after) = (Work("child"), Work("after"))
    let group = GroupOperation(name: "group") { child }
    after.addDependency(group)
    child.addDependency(after)
    for operation in [child, after, group] {
      #expect(operation.explain().rootCauses.map(\.kind) == [.cycle], "\(operation)")
    }
  }

  @Test func `several operations with one common dependency aren't a cycle`() {
    let first = Work("first")
    let middle = (0..<5).map { Work("\($0)") }
    let last = Work("last")
    for work in middle {
      work.addDependency(first)
      last.addDependency(work)
    }
    #expect(last.explain().rootCauses.map(\.kind) == [.notEnqueued])
    #expect(last.explain().rootCauses.map(\.operations) == [[last] + middle + [first]])
  }

  @Test func `the explanation follows a long chain behind a cycle once`() {
    let chain = (0..<3_000).map { Work("\($0)") }
    for (earlier, later) in zip(chain, chain.dropFirst()) { later.addDependency(earlier) }
    chain[0].addDependency(chain[1])
    let explanation = chain[2_999].explain()
    #expect(explanation.rootCauses[0].kind == .cycle)
    #expect(explanation.path.count == 2_999)
  }

  @Test func `the explanation of an operation cancelled by a cycle names the cycle`() {
    let world = World()
    let (a, b) = (Work("a"), Work("b"))
    a.addDependency(b)
    b.addDependency(a)
    world.run(a, b)
    #expect(text(a).hasPrefix("a has finished without having run: cancelled\n  cancelled: "))
    for name in ["a", "b"] { #expect(text(a).contains(name)) }
    #expect(text(a).contains("→"))
    #expect(a.cancellationReason is OperationCycleError)
  }

  @Test func `a group whose start is being reported isn't in a cycle with its children`() {
    let world = World()
    let child = Work("child")
    let group = GroupOperation(name: "group") { child }
    let texts = Log<String>()
    group.onStart { group in
      for operation in [group, child] { texts.add(text(operation)) }
    }
    world.run(group)
    #expect(
      texts.entries == [
        """
        group waits for its children child
          child is about to be started by group
        """,
        "child is about to be started by group",
      ]
    )
  }
}
