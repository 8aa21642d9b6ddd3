import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched) struct `The picture of a graph` {
  /// A graph of operations that aren't in a queue: names and edges are those of the test.
  private func graph(
    _ names: [String],
    _ edges: [(Int, Int)] = [],
    groups: [Int: Int] = [:]
  ) -> OperationGraph {
    var graph = OperationGraph(of: names.map { AdvancedOperation(name: $0) })
    for (child, group) in groups { graph.nodes[child].group = graph.nodes[group].id }
    graph.edges = edges.map { from, to in
      OperationGraph.Edge(from: graph.nodes[from].id, to: graph.nodes[to].id, kind: .dependency)
    }
    return graph
  }

  private func picture(_ graph: OperationGraph) throws -> GraphPicture {
    try GraphPicture(graph.svg())
  }

  @Test func `a graph's picture has boxes and arrows from left to right`()
    throws
  {
    let picture = try picture(
      graph(["a", "b", "c", "d"], [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)])
    )
    #expect(picture.nodes.map(\.name) == ["a", "b", "c", "d"])
    #expect(picture.edges.count == 5)
    #expect(picture.tipCount == 5)
    #expect(picture.title == "4 operations, 5 edges")
    let (a, b) = (try picture.box("a"), try picture.box("b"))
    let (c, d) = (try picture.box("c"), try picture.box("d"))
    #expect(a.right < b.x && b.right < d.x)
    #expect(b.x == c.x && b.bottom < c.y)
  }

  @Test func `a graph's picture shows the state in words unless the operation waits`() throws {
    let world = World()
    let done = Work("done")
    let store = Work.open("store")
    let later = Work("later")
    store.addDependency(done)
    later.addDependency(store)
    let failing = Work.failing("failing")
    let cancelled = AdvancedOperation(name: "cancelled early")
    cancelled.cancel()
    world.queue.addOperations([done, store, later, failing])
    world.simulation.run()

    let picture = try picture(OperationGraph(of: [done, store, later, failing, cancelled]))
    #expect(
      picture.nodes.map { $0.lines.map(\.text) } == [
        ["done", "succeeded"], ["store", "executing"], ["later"], ["failing", "failed"],
        ["cancelled early", "cancelled, waiting"],
      ]
    )
    let title = try #require(picture.nodes.first { $0.title.hasPrefix("failing") }?.title)
    #expect(title.hasPrefix("failing: failed\n"), "with the reason")
    let dependencies = try self.picture(world.queue.graph)
    #expect(dependencies.nodes.filter(\.isDashed).map(\.name) == ["done"], "not a member")
    store.finish()
    world.simulation.run()
  }

  @Test func `a graph's picture draws children inside their group's frame`() throws {
    let world = World()
    let inside = (0..<3).map { Work("child \($0)") }
    inside[1].addDependency(inside[0])
    let inner = GroupOperation(name: "inner") { inside[2] }
    let outer = GroupOperation(name: "outer") {
      inside[0]
      inside[1]
      inner
    }
    let after = Work("after")
    after.addDependency(outer)
    world.queue.isSuspended = true
    world.queue.addOperations([outer, after])

    let picture = try picture(world.queue.graph)
    #expect(picture.frames.count == 2)
    let outerFrame = try #require(picture.frames.first)
    let innerFrame = try #require(picture.frames.last)
    #expect(outerFrame.contains(innerFrame))
    for name in ["outer", "child 0", "child 1"] {
      #expect(outerFrame.contains(try picture.box(name)))
      #expect(!innerFrame.overlaps(try picture.box(name)))
    }
    #expect(innerFrame.contains(try picture.box("inner")))
    #expect(innerFrame.contains(try picture.box("child 2")))
    #expect(outerFrame.right < (try picture.box("after").x))
    #expect(picture.edges.count == 2)
  }

  @Test func `a graph's picture draws edges of cycles, of single nodes and of products`()
    throws
  {
    var cyclic = graph(["a", "b", "c"], [(0, 1), (1, 2), (2, 0), (1, 1)])
    let made = OperationGraph.Edge(from: "op_a", to: "op_c", kind: .produced)
    cyclic.edges += [made, OperationGraph.Edge(from: "op_a", to: "nowhere", kind: .dependency)]
    let picture = try picture(cyclic)
    #expect(picture.nodes.count == 3)
    #expect(picture.edges.map(\.isDashed) == [false, false, false, false, true])
    #expect(picture.tipCount == 5)
  }

  @Test func `a picture of an empty graph says that it has no operations`() throws {
    let picture = try picture(OperationGraph(of: []))
    #expect(picture.nodes.isEmpty && picture.edges.isEmpty)
    #expect(picture.remarks == ["no operations"])
    #expect(picture.size.width > 0 && picture.size.height > 0)
  }

  @Test(arguments: `The text of a graph`.hostile + `A picture has room`.names)
  func `a graph's picture has each name as text and as a tooltip`(name: String) throws {
    let named = AdvancedOperation(name: name)
    let picture = try GraphPicture(OperationGraph(of: [named]).svg())
    let shown = String(
      String.UnicodeScalarView(
        name.unicodeScalars.map { scalar in
          scalar != "\n" && (scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value))
            ? "\u{fffd}" : scalar
        }
      )
    )
    let node = try #require(picture.nodes.first)
    #expect(node.title == shown + ": waiting")
    #expect((1...3).contains(node.lines.count))
  }

  @Test(arguments: `A picture has room`.names + [String(repeating: "日本語の名前", count: 12)])
  func `a graph's picture has space for names in any usual font`(name: String) throws {
    let picture = try GraphPicture(OperationGraph(of: [AdvancedOperation(name: name)]).svg())
    let node = try #require(picture.nodes.first)
    let box = try #require(node.box)
    for line in node.lines {
      let width = line.text.reduce(0.0) { sum, letter in
        let widths = `A picture has room`.widest[letter] ?? (100, 100)
        return sum + widths.bold / 100 * line.size
      }
      #expect(line.x >= box.x && line.x + width <= box.right)
      #expect(line.y - line.size >= box.y && line.y + line.size / 3 <= box.bottom)
    }
  }

  // MARK: Layouts

  /// A graph with cycles, groups in each other, and edges between any two nodes.
  private func random(_ seed: UInt64, hasGroups: Bool, isAcyclic: Bool = false) -> OperationGraph {
    var generator = SplitMix64(seed: seed)
    let count = Int.random(in: 1...40, using: &generator)
    let words = ["a", "fetch", "a name of several words that is folded", "WWWWWWWWWWWWWWWWWW"]
    let names = (0..<count).map { number in
      "\(words.randomElement(using: &generator) ?? "") \(number)"
    }
    var edges: [(Int, Int)] = []
    for _ in 0..<Int.random(in: 0...(count * 2), using: &generator) {
      let from = Int.random(in: 0..<count, using: &generator)
      let to = Int.random(in: 0..<count, using: &generator)
      if !isAcyclic {
        edges.append((from, to))
      } else if from != to {
        edges.append((min(from, to), max(from, to)))
      }
    }
    var groups: [Int: Int] = [:]
    if hasGroups {
      for child in 1..<max(count, 1) where Int.random(in: 0..<3, using: &generator) > 0 {
        groups[child] = Int.random(in: 0..<child, using: &generator)
      }
    }
    return graph(names, edges, groups: groups)
  }

  @Test(arguments: Effort.seeds(300))
  func `a graph's picture has every node and edge once without overlaps`(seed: UInt64) throws {
    let graph = random(seed, hasGroups: seed % 3 != 0)
    let svg = graph.svg()
    let picture = try GraphPicture(svg)
    #expect(svg == graph.svg(), "the same graph has the same picture")
    #expect(picture.nodes.map(\.name) == graph.nodes.map(\.name))
    #expect(picture.edges.count == graph.edges.count)
    #expect(picture.tipCount == graph.edges.count)

    let boxes = try graph.nodes.map { try picture.box($0.name) }
    for (number, box) in boxes.enumerated() {
      #expect(box.x >= 0 && box.y >= 0)
      #expect(box.right <= picture.size.width && box.bottom <= picture.size.height)
      for other in boxes[(number + 1)...] { #expect(!box.overlaps(other)) }
    }
    let numbers = Dictionary(uniqueKeysWithValues: graph.nodes.enumerated().map { ($1.id, $0) })
    func groups(of node: Int) -> Set<Int> {
      var groups: Set<Int> = []
      var next = graph.nodes[node].group
      while let group = next.flatMap({ numbers[$0] }) {
        groups.insert(group)
        next = graph.nodes[group].group
      }
      return groups
    }
    let parents = Set(graph.nodes.compactMap(\.group)).compactMap { numbers[$0] }
    #expect(picture.frames.count == parents.count)
    for group in parents {
      let frame = try #require(
        picture.frames.first { $0.x == boxes[group].x && $0.y == boxes[group].y }
      )
      for node in boxes.indices {
        let isInside = node == group || groups(of: node).contains(group)
        #expect(isInside ? frame.contains(boxes[node]) : !frame.overlaps(boxes[node]))
      }
    }
  }

  @Test(arguments: Effort.seeds(300))
  func `arrows cross no box and point right unless they complete a cycle`(
    seed: UInt64
  ) throws {
    let graph = random(seed, hasGroups: seed % 3 != 0)
    let picture = try GraphPicture(graph.svg())
    let boxes = Dictionary(
      uniqueKeysWithValues: try graph.nodes.map { ($0.id, try picture.box($0.name)) }
    )
    // Sorted by the level that they are drawn at: an arrow begins or ends at the right of its node.
    var remaining = graph.edges
    for (path, _) in picture.edges {
      let lines = path.matches(of: /([MHVC])([-0-9. ]+)/).map { part in
        (part.output.1, part.output.2.split(separator: " ").compactMap { Double($0) })
      }
      var (x, y) = (lines[0].1[0], lines[0].1[1])
      let start = (x, y)
      var swept: [GraphPicture.Box] = []
      for (command, values) in lines.dropFirst() {
        let (nextX, nextY) =
          switch command {
          case "H": (values[0], y)
          case "V": (x, values[0])
          default: (values[4], values[5])
          }
        // A curve stays between its ends, but for that of a node to itself.
        let right = command == "C" && nextX - x < 8 ? max(values[0], nextX) : max(x, nextX)
        swept.append(
          GraphPicture.Box(
            x: min(x, nextX),
            y: min(y, nextY),
            width: right - min(x, nextX),
            height: abs(nextY - y)
          )
        )
        (x, y) = (nextX, nextY)
      }
      func isAt(_ box: GraphPicture.Box, _ x: Double, _ y: Double) -> Bool {
        x > box.x - 8 && x < box.right + 8 && y > box.y - 1 && y < box.bottom + 8
      }
      let ends = [start, (x, y)]
      let place = remaining.firstIndex { edge in
        guard let from = boxes[edge.from], let to = boxes[edge.to] else { return false }
        return isAt(from, ends[0].0, ends[0].1) && isAt(to, ends[1].0, ends[1].1)
          || isAt(to, ends[0].0, ends[0].1) && isAt(from, ends[1].0, ends[1].1)
      }
      let edge = remaining.remove(at: try #require(place, "an arrow leads from nowhere: \(path)"))
      for (id, box) in boxes where id != edge.from && id != edge.to {
        #expect(!swept.contains { $0.overlaps(box) }, "\(edge.from) → \(edge.to) crosses \(id)")
      }
    }
    #expect(remaining.isEmpty)
  }

  @Test(arguments: Effort.seeds(300))
  func `arrows of an acyclic graph point to the right`(seed: UInt64) throws {
    let graph = random(seed, hasGroups: false, isAcyclic: true)
    let picture = try GraphPicture(graph.svg())
    let boxes = try graph.nodes.map { ($0.id, try picture.box($0.name)) }
    let places = Dictionary(uniqueKeysWithValues: boxes)
    for edge in graph.edges {
      let (from, to) = (try #require(places[edge.from]), try #require(places[edge.to]))
      #expect(from.right < to.x)
    }
  }

  @Test func `a graph's picture places connected nodes next to each other`() throws {
    // Families of a node, two that wait for it, and one that waits for both, in an order that doesn't
    // show it; and a node that waits for all families.
    let count = 40
    let parts = ["last", "left", "first", "right"]
    let names = parts.flatMap { part in (0..<count).map { "\(part) \($0 * 7 % count)" } } + ["all"]
    func number(_ name: String) -> Int { names.firstIndex(of: name) ?? 0 }
    var edges: [(Int, Int)] = []
    for family in 0..<count {
      for side in ["left", "right"] {
        edges.append((number("first \(family)"), number("\(side) \(family)")))
        edges.append((number("\(side) \(family)"), number("last \(family)")))
      }
      edges.append((number("last \(family)"), number("all")))
    }
    let graph = graph(names, edges)
    let picture = try picture(graph)
    for (from, to) in edges where names[to] != "all" {
      let distance = try picture.box(names[from]).middle - picture.box(names[to]).middle
      #expect(abs(distance) < 60, "\(names[from]) and \(names[to])")
    }
  }

  @Test func `a graph's picture isn't larger than viewers can draw`() throws {
    let column = try picture(graph((0..<1_500).map { "step \($0)" }))
    #expect(column.nodes.count == 1_500 && column.size.height < 32_767)
    let row = try picture(graph((0..<500).map { "step \($0)" }, (1..<500).map { ($0 - 1, $0) }))
    #expect(row.nodes.count == 500 && row.size.width < 32_767)
  }

  @Test func `a graph's picture accepts deep groups and cycles of groups`()
    throws
  {
    let deep = graph(
      (0..<300).map { "\($0)" },
      [(299, 0), (0, 299), (150, 299)],
      groups: Dictionary(uniqueKeysWithValues: (1..<300).map { ($0, $0 - 1) })
    )
    let picture = try picture(deep)
    #expect(picture.nodes.count == 300 && picture.frames.count == 299 && picture.edges.count == 3)
    var circle = graph(["a", "b", "c"], [(0, 2)], groups: [1: 0, 2: 1])
    circle.nodes[0].group = circle.nodes[2].id
    #expect(try self.picture(circle).nodes.count == 3)
  }

  @Test func `a graph's picture has dark style rules for itself only`() throws {
    let style = try picture(graph(["a"])).style
    let rules = style.split(separator: "\n").filter { $0.contains("{") && !$0.hasPrefix("@") }
    #expect(!rules.isEmpty)
    #expect(rules.allSatisfy { $0.hasPrefix(".operation-graph ") })
  }
}
