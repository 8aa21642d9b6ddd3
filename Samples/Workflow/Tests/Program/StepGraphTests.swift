import AdvancedOperations
import AdvancedOperationsVisualization
import Foundation
import Testing
import WorkflowDocument

@testable import workflow

@Suite struct `A drawing of steps` {
  private func picture(_ workflow: Workflow) -> String { StepPlan.graph(of: workflow).svg() }

  @Test func `has a box for each and an arrow for each need, left to right`() throws {
    let svg = picture(.steps(["a": [], "<b> & \"c\"": ["a"], "d": ["a", "<b> & \"c\""]]))
    #expect(svg.components(separatedBy: "class=\"box\"").count - 1 == 3)
    #expect(svg.components(separatedBy: "class=\"edge\"").count - 1 == 3)
    #expect(svg.contains(">&lt;b&gt; &amp; \"c\"</text>"))
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
      let svg = picture(workflow)
      #expect(svg.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 })
      let count = svg.components(separatedBy: "<g>").count - 1
      #expect(count == workflow.steps.count)
      #expect(svg.components(separatedBy: "</g>").count - 1 == count)
    }
  }

  @Test func `says in words what is amiss, not in colours alone`() {
    let fine = AdvancedOperation(name: "fine")
    let gone = AdvancedOperation(name: "gone")
    gone.cancel()
    let svg = OperationGraph(of: [fine, gone]).svg()
    #expect(svg.matches(of: /font-size="11">([a-z, ]+)</).map(\.output.1) == ["cancelled, waiting"])
  }
}
