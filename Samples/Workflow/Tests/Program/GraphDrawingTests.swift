import AdvancedOperations
import Foundation
import TerminalSupport
import Testing
import WorkflowDocument

@testable import workflow

@Suite struct `A drawing of steps` {
  @Test func `has a box for each and an arrow for each need, left to right`() throws {
    let workflow = Workflow.steps(["a": [], "<b> & \"c\"": ["a"], "d": ["a", "<b> & \"c\""]])
    let svg = GraphDrawing(StepPlan.graph(of: workflow)).svg
    #expect(svg.components(separatedBy: "class=\"box\"").count - 1 == 3)
    #expect(svg.components(separatedBy: "class=\"edge\"").count - 1 == 3)
    #expect(svg.contains(">&lt;b&gt; &amp; &quot;c&quot;</text>"))
    let places = try ["a", "&lt;b", "d"].map { name in
      let end = try #require(svg.range(of: ">\(name)", options: .backwards)).lowerBound
      let begin = try #require(svg[..<end].range(of: "<text x=\"", options: .backwards)).upperBound
      return try #require(Double(svg[begin...].prefix { $0 != "\"" }))
    }
    #expect(places == places.sorted())
    #expect(Set(places).count == 3)
  }

  @Test func `is well-formed whatever the names are, and of nothing too`() throws {
    for workflow in [
      Workflow(name: "empty"), .steps(["\u{1B}]0;x\u{7}\u{0}<>&\"'": [], "東京": []]), .chain(300),
    ] {
      let svg = GraphDrawing(StepPlan.graph(of: workflow)).svg
      #expect(svg.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 })
      let count = svg.components(separatedBy: "<g>").count - 1
      #expect(count == workflow.steps.count)
      #expect(svg.components(separatedBy: "</g>").count - 1 == count)
    }
  }

  private static func workflow(_ steps: [(name: String, needs: [String])]) -> Workflow {
    var workflow = Workflow(name: "example")
    for (name, needs) in steps {
      var step = Step(id: name, command: .shell(Template(text: "true")))
      step.needs = needs
      workflow.steps.append(step)
    }
    return workflow
  }

  /// The boxes in the order of the nodes.
  private func boxes(_ svg: String) -> [(x: Double, y: Double, width: Double, height: Double)] {
    let box = /class="box" x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)"/
    return svg.matches(of: box).map { match in
      let (_, x, y, width, height) = match.output
      return (Double(x) ?? -1, Double(y) ?? -1, Double(width) ?? -1, Double(height) ?? -1)
    }
  }

  @Test func `has what belongs together beside each other, in a large workflow too`() {
    // Families of a step, two that need it and one that needs both, and what needs all of them; in
    // an order that doesn't show it.
    let count = 40
    var steps: [(String, [String])] = []
    for part in ["last", "left", "first", "right"] {
      for number in 0..<count {
        switch part {
        case "first": steps.append(("first\(number)", []))
        case "last": steps.append(("last\(number)", ["left\(number)", "right\(number)"]))
        default: steps.append(("\(part)\(number * 7 % count)", ["first\(number * 7 % count)"]))
        }
      }
    }
    steps.append(("all", (0..<count).map { "last\($0)" }))
    let workflow = Self.workflow(steps)
    let boxes = boxes(GraphDrawing(StepPlan.graph(of: workflow)).svg)
    #expect(boxes.count == steps.count)
    let middles = Dictionary(
      uniqueKeysWithValues: zip(steps.map(\.0), boxes.map { $0.y + $0.height / 2 })
    )
    for (name, needs) in steps where name != "all" {
      for need in needs {
        #expect(abs((middles[name] ?? 0) - (middles[need] ?? 0)) < 60, "\(name) and \(need)")
      }
    }
    for column in Dictionary(grouping: boxes, by: \.x).values {
      let sorted = column.sorted { $0.y < $1.y }
      for (upper, lower) in zip(sorted, sorted.dropFirst()) {
        #expect(upper.y + upper.height + 10 < lower.y)
      }
    }
  }

  @Test func `isn't higher than readers can draw`() throws {
    let names = (0..<1_500).map { "step \($0)" }
    let workflow = Self.workflow(names.map { ($0, []) })
    let svg = GraphDrawing(StepPlan.graph(of: workflow)).svg
    let size = try #require(
      svg.firstMatch(of: /height="([0-9.]+)" viewBox="0 0 [0-9.]+ ([0-9.]+)"/)
    )
    #expect(try #require(Double(size.output.1)) < 32_767)
    #expect(try #require(Double(size.output.2)) > 60_000, "nothing is left out")
  }

  @Test(arguments: [
    "build", "cycles_fertilizer_increase_output_parser_ID0000004",
    String(repeating: "WM", count: 40), "THE UPPER CASE NAME OF A STEP OF A RELEASE THAT IS LONG",
    String(repeating: "日本語の名前", count: 12), String(repeating: "\n", count: 50), "",
    "A" + String(repeating: "\u{301}", count: 10_000),
  ])
  func `folds long names into lines that stay in their boxes`(name: String) throws {
    let label = GraphLabel(name)
    #expect((1...3).contains(label.lines.count))
    for line in label.lines {
      #expect(line.columnCount <= 28)
      #expect(line.unicodeScalars.count <= 28 * String.scalarsPerCharacter)
    }
    if !label.lines.joined().contains("…") {
      let compact = { (text: String) in text.filter { $0 != " " } }
      #expect(compact(label.lines.joined()) == compact(name.printable()))
    }
    // In DejaVu Sans an M is 0.86 of the size, a W 0.99, and a sign of East Asia 1.
    let widest = label.lines.map { line in
      line.reduce(0.0) { $0 + ($1 == "M" ? 0.86 : $1 == "W" ? 0.99 : $1.columnCount > 1 ? 1 : 0) }
    }
    #expect(label.width >= 13 * (widest.max() ?? 0))
    let svg = GraphDrawing(OperationGraph(of: [AdvancedOperation(name: name)])).svg
    let box = try #require(boxes(svg).first)
    #expect(box.width >= label.width + 16)
    #expect(box.height >= 16 * Double(label.lines.count))
  }

  @Test func `folds behind marks between words`() {
    let label = GraphLabel("cycles_fertilizer_increase_output_parser_ID0000004")
    #expect(label.lines == ["cycles_fertilizer_increase_", "output_parser_ID0000004"])
  }

  @Test func `says in words what is amiss, not in colours alone`() {
    let fine = AdvancedOperation(name: "fine")
    let gone = AdvancedOperation(name: "gone")
    gone.cancel()
    let svg = GraphDrawing(OperationGraph(of: [fine, gone])).svg
    #expect(svg.matches(of: /class="note"[^>]*>([a-z]+)</).map(\.output.1) == ["cancelled"])
  }
}
