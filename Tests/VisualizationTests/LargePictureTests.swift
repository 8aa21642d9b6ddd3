import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import Testing

/// Drawings of more operations than anybody can look at.
@Suite(.watched) struct `A picture of very many operations` {
  /// Short operations with some long ones and a chain, a failure and a group among them: 9 more.
  private func timeline(_ count: Int) -> OperationTimeline {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let short = (0..<count).map { world.taking($0 % 3 + 1, "short \($0)") }
    let chain = (0..<5).map { world.taking(20, "chain \($0)") }
    for (before, after) in zip(chain, chain.dropFirst()) { after.addDependency(before) }
    let inside = world.taking(12, "inside")
    let group = GroupOperation(name: "group") { inside }
    world.queue.addOperations(short)
    world.queue.addOperations(chain)
    world.queue.addOperations([group, world.taking(11, "long"), Work.failing("failing")])
    world.simulation.run()
    return recorder.timeline
  }

  private func names(_ svg: String) -> [String] {
    svg.matches(of: /<text x="(?:12|24)" y="[0-9.]+"(?: font-weight="bold")?>([^<]+)</)
      .map { String($0.output.1) }
  }

  @Test func `a large picture has the critical path, failures and the longest operations`() {
    let timeline = timeline(60)
    let important = (0..<5).map { "chain \($0)" } + ["failing", "long", "group", "inside"]
    let long = (0..<60).filter { $0 % 3 == 2 }.map { "short \($0)" }
    for (rows, expected) in [
      (5, Array(important[..<5])), (6, Array(important[..<6])), (9, important),
      (29, important + long),
    ] {
      let svg = timeline.picture(rows: rows)
      #expect(names(svg).sorted() == expected.sorted())
      #expect(svg.contains(">69 operations in 1 min 40 s"), "the sums are those of all")
      #expect(svg.contains("\(rows) operations are drawn: "))
      #expect(svg.contains(" \(69 - rows) more are left out.<"))
    }
  }

  @Test func `a large picture shows the longest operations next to very many failures`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let long = (1...5).map { world.taking($0, "long \($0)") }
    world.queue.addOperations((0..<40).map { Work.failing("failing \($0)") } + long)
    world.simulation.run()
    let shown = names(recorder.timeline.picture(rows: 10))
    #expect(shown.count { $0.hasPrefix("failing") } == 5)
    #expect(shown.count { $0.hasPrefix("long") } == 5)
  }

  @Test func `a large picture omits nothing while there is space`() {
    let timeline = timeline(20)
    #expect(timeline.picture(rows: 29) == timeline.svg())
    #expect(names(timeline.svg()).count == 29)
    #expect(!timeline.svg().contains("left out"))
    #expect(timeline.picture(rows: 28).contains(" 1 more are left out.<"))
  }

  @Test func `a large picture isn't higher than viewers can draw`() throws {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    world.queue.addOperations((0..<2_510).map { _ in AdvancedOperation() })
    world.simulation.run()
    let svg = recorder.timeline.svg()
    #expect(svg.contains(" 10 more are left out.<"))
    let size = try #require(svg.firstMatch(of: /width="[0-9.]+" height="([0-9.]+)" viewBox/))
    #expect(try #require(Double(size.output.1)) < 32_767)
  }

  @Test func `a large picture draws groups above their children at any depth`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    var inside: AdvancedOperation = world.taking(1, "deepest")
    for number in 1...26 {
      let operation = inside
      inside = GroupOperation(name: "group \(number)") { operation }
    }
    world.run(inside)
    // What is in more groups than there are rows has none.
    let svg = recorder.timeline.picture(rows: 25)
    #expect(svg.contains(" 2 more are left out.<"))
    #expect(svg.contains(">group 26<") && !svg.contains(">deepest<"))
    #expect(recorder.timeline.picture(rows: 27).contains(">deepest<"))
  }

  // MARK: Graphs

  @Test func `a graph can be filtered to a part`() {
    let works = (0..<20).map { $0 % 5 == 0 ? Work.failing("\($0)") : Work("\($0)") }
    for (before, after) in zip(works, works.dropFirst()) { after.addDependency(before) }
    let world = World()
    let group = GroupOperation(name: "group") { works }
    world.run(group)
    let graph = OperationGraph(of: [group])
    #expect(graph.filter { _ in true }.dot() == graph.dot())
    #expect(graph.filter { _ in false }.nodes.isEmpty)

    let part = graph.filter { $0.outcome?.isSuccess != true }
    #expect(part.nodes.map(\.name) == ["group", "0", "5", "10", "15"])
    #expect(part.nodes.map { $0.group != nil } == [false, true, true, true, true])
    #expect(part.edges.isEmpty)

    let pair = graph.filter { $0.name == "7" || $0.name == "8" }
    #expect(pair.edges == [.init(from: "op_7", to: "op_8", kind: .dependency)])
    #expect(pair.nodes.map(\.group) == [nil, nil])
    #expect(pair.dot().matches(of: /op_/).count == 4)
  }
}
