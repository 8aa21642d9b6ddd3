import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched) struct `The graph of operations` {
  /// `a` → `b` → `c`, of which `a` has finished and `b` goes on.
  private func chain(in world: World) -> [Work] {
    let operations = [Work("a"), Work.open("b"), Work("c")]
    operations[1].addDependency(operations[0])
    operations[2].addDependency(operations[1])
    world.queue.addOperations(operations)
    world.simulation.run()
    return operations
  }

  @Test func `a graph has its members with dependencies and states`() throws {
    let world = World()
    _ = chain(in: world)
    let graph = world.queue.graph

    #expect(graph.nodes.map(\.name) == ["b", "c", "a"])
    #expect(graph.nodes.map(\.state) == [.executing, .pending, .finished])
    #expect(graph.nodes.map(\.isMember) == [true, true, false])
    #expect(graph.nodes.map { $0.outcome?.kind } == [nil, nil, .succeeded])
    #expect(
      graph.edges == [
        .init(from: "op_a", to: "op_b", kind: .dependency),
        .init(from: "op_b", to: "op_c", kind: .dependency),
      ]
    )
  }

  @Test func `a graph is printed as one line however many operations it has`() {
    let world = World()
    _ = chain(in: world)
    #expect("\(world.queue.graph)" == "3 operations (b, c, a), 2 edges")
    #expect("\(world.queue.graph.filter { $0.name == "b" })" == "1 operation (b), 0 edges")
    #expect("\(world.queue.graph.filter { $0.name != "a" })" == "2 operations (b, c), 1 edge")
    #expect("\(AdvancedOperationQueue().graph)" == "no operations")
    let many = OperationGraph(of: (1...2_000).map { Work("w\($0)") })
    #expect("\(many)" == "2000 operations (w1, w2, w3, w4, w5 and 1995 more), 0 edges")
  }

  @Test func `a graph is a value that later events don't change`() {
    let world = World()
    let operations = chain(in: world)
    let before = world.queue.graph
    operations[1].finish()
    world.simulation.run()

    #expect(before.nodes.map(\.state) == [.executing, .pending, .finished])
    #expect(world.queue.graph.nodes.isEmpty)
    #expect(OperationGraph(of: operations).nodes.map(\.state) == [.finished, .finished, .finished])
  }

  @Test func `a graph keeps its ids while operations arrive and leave`() {
    let world = World()
    let operations = chain(in: world)
    let before = world.queue.graph.nodes.first { $0.name == "c" }?.id
    operations[1].finish()
    let last = Work.open("d")
    last.addDependency(operations[2])
    world.queue.addOperation(last)

    #expect(before == "op_c")
    #expect(world.queue.graph.nodes.first { $0.name == "c" }?.id == before)
  }

  @Test func `a graph doesn't follow finished dependencies unless they are requested`() {
    let world = World()
    let operations = (0..<5).map { Work("\($0)") }
    for (earlier, later) in zip(operations, operations.dropFirst()) { later.addDependency(earlier) }
    world.queue.addOperations(Array(operations.dropLast()))
    world.simulation.run()

    #expect(OperationGraph(of: operations.suffix(1)).nodes.map(\.name) == ["4", "3"])
    #expect(OperationGraph(of: operations).edges.count == 4)
  }

  @Test func `a graph follows unfinished dependencies into other queues`() {
    let world = World()
    let other = world.makeQueue()
    other.isSuspended = true
    let (far, near, member) = (Work("far"), Work("near"), Work("member"))
    near.addDependency(far)
    member.addDependency(near)
    other.addOperations([far, near])
    world.queue.addOperation(member)

    let graph = world.queue.graph
    #expect(graph.nodes.map(\.name) == ["member", "near", "far"])
    #expect(graph.nodes.map(\.isMember) == [true, false, false])
    other.isSuspended = false
    world.simulation.run()
  }

  @Test func `a graph records the group of each child at any depth`() {
    let leaf = Work("leaf")
    let inner = GroupOperation(name: "inner") { leaf }
    let outer = GroupOperation(name: "outer") { inner }
    let expected = ["inner": "op_outer", "leaf": "op_inner", "outer": nil]

    for order in [[outer], [leaf, inner, outer], [inner, outer, leaf]] {
      let graph = OperationGraph(of: order)
      #expect(graph.nodes.count == 3)
      #expect(
        Dictionary(uniqueKeysWithValues: graph.nodes.map { ($0.name, $0.group) }) == expected
      )
    }
  }

  @Test func `a graph records which operation produced which`() throws {
    let world = World()
    let product = Work.open("product")
    let producer = Work("producer", policy: .whenFinishIsCalled) { try? $0.produce(product) }
    world.run(producer)
    let graph = world.queue.graph

    #expect(graph.edges == [.init(from: "op_producer", to: "op_product", kind: .produced)])
    #expect(graph.dot().contains("op_producer -> op_product [style=dashed"))
    #expect(graph.mermaid().contains("op_producer -. produced .-> op_product"))
  }

  @Test func `a graph shows the remaining edges of a cancelled cycle`() {
    let world = World()
    let (a, b) = (Work("a"), Work("b"))
    a.addDependency(b)
    b.addDependency(a)
    world.run(a, b)

    let graph = OperationGraph(of: [a, b])
    #expect(graph.nodes.allSatisfy { $0.outcome?.kind == .cancelled })
    // One edge was removed to open it; the path is in the reason.
    #expect(graph.edges.count == 1)
    #expect((a.cancellationReason as? OperationCycleError)?.path.count == 3)
  }

  @Test func `a graph includes plain operations`() {
    let world = World()
    let (plain, cancelled, waiting) = (BlockOperation {}, BlockOperation {}, Operation())
    plain.name = "plain"
    cancelled.name = "cancelled"
    waiting.name = "waiting"
    cancelled.cancel()
    waiting.addDependency(Work.open("never"))
    world.run(plain, cancelled)

    let nodes = OperationGraph(of: [plain, cancelled, waiting]).nodes.prefix(3)
    #expect(nodes.map(\.state) == [.finished, .finished, .pending])
    #expect(nodes.map { $0.outcome?.kind } == [.succeeded, .cancelled, nil])
  }

  @Test func `wide and deep graphs need no recursion`() {
    var group = GroupOperation(name: "innermost")
    let count = Effort.size(20_000, ordinarily: 10_000)
    for _ in 0..<count {
      let inside = group
      group = GroupOperation { inside }
    }
    let graph = OperationGraph(of: [group])
    #expect(graph.nodes.count == count + 1)
    #expect(graph.dot().contains("op_innermost ["))
    // Released one by one, beginning with the outermost: the stack wouldn't hold them at once.
    var next: GroupOperation? = group
    var all: [GroupOperation] = []
    while let here = next {
      all.append(here)
      next = here.children.first as? GroupOperation
    }
    group = GroupOperation()
    all.reverse()
    while all.popLast() != nil {}
  }
}
