import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import Testing

@Suite(.watched) struct `The text of a graph` {
  private func workflow() -> OperationGraph {
    let world = World()
    let (download, parse, store) = (Work("download"), Work.open("parse"), Work("store"))
    let report = Work("report")
    let sync = GroupOperation(name: "sync") {
      parse
      store
    }
    sync.addDependency(download)
    store.addDependency(parse)
    report.addDependency(sync)
    world.queue.addOperations([download, sync, report])
    world.simulation.run()
    return world.queue.graph
  }

  @Test
  func `the Graphviz text has boxes for groups and arrows in work order`() {
    #expect(
      workflow().dot() == """
        digraph operations {
          rankdir=LR;
          node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11];
          edge [fontname="Helvetica", fontsize=9, color="#555555"];
          subgraph cluster_op_sync {
            style="rounded"; color="#999999"; label="";
            op_sync [label="sync\\nexecuting", fillcolor="#8fc1f5", shape=folder, style=filled];
            op_parse [label="parse\\nexecuting", fillcolor="#8fc1f5"];
            op_store [label="store\\nwaiting", fillcolor="#eeeeee"];
          }
          op_report [label="report\\nwaiting", fillcolor="#eeeeee"];
          op_download [label="download\\nsucceeded", fillcolor="#b7e0b0", style="rounded,filled,dashed"];
          op_download -> op_sync;
          op_parse -> op_store;
          op_sync -> op_report;
        }

        """
    )
  }

  @Test func `the Mermaid text is a flowchart`() {
    #expect(
      workflow().mermaid() == """
        flowchart LR
          subgraph in_op_sync[" "]
            op_sync[["sync<br/>executing"]]:::executing
            op_parse("parse<br/>executing"):::executing
            op_store("store<br/>waiting"):::waiting
          end
          op_report("report<br/>waiting"):::waiting
          op_download("download<br/>succeeded"):::succeeded
          op_download --> op_sync
          op_parse --> op_store
          op_sync --> op_report
          classDef waiting fill:#eeeeee,stroke:#555,color:#000
          classDef executing fill:#8fc1f5,stroke:#555,color:#000
          classDef succeeded fill:#b7e0b0,stroke:#555,color:#000

        """
    )
  }

  @Test func `the text of an empty graph has no nodes`() {
    let nothing = OperationGraph(of: [])
    #expect(nothing.dot().hasSuffix("}\n"))
    #expect(nothing.mermaid() == "flowchart LR\n")
  }

  @Test func `the text says that a cancelled operation is still executing`() {
    let world = World()
    let work = Work.open("work", policy: .whenFinishIsCalled)
    world.run(work)
    work.cancel()
    #expect(world.queue.graph.dot().contains("cancelled, executing"))
    work.finish()
    world.simulation.run()
  }

  /// Names that mean something to somebody.
  static let hostile = [
    "", " ", "\"", "\\", "\\\"", "ends with \\", "\\N", "a\nb", "a\r\nb", "\u{0}\u{1b}[31m", "end",
    "graph", "]", ")", "<b>", "&amp;", "#quot;", "%%{init: {}}%%", "`**x**`", "日本", "🧨", "-->", ";",
    "1. fetch", "2) parse", "- x", "+ x", "* x", "# x", "> x", "---", "    x", "__init__",
    "*.swift *.md", "~~x~~", "[a](b)", "https://example.org/a_b?c=1&d", "www.example.org",
    "mail a@example.org", "v1.2.3-rc.1",
  ]

  @Test(arguments: hostile) func `Graphviz reads a quoted name unchanged`(
    name: String
  ) throws {
    // What Graphviz does: the lexer ends at a bare quote; then escapes, then entities.
    var read = ""
    var rest = OperationGraph.quoted(name).unicodeScalars[...]
    while let scalar = rest.popFirst() {
      #expect(scalar != "\"" && scalar.value >= 0x20)
      guard scalar == "\\" else {
        read.unicodeScalars.append(scalar)
        continue
      }
      let escaped = rest.popFirst()
      let next = try #require(escaped)
      #expect(["\"", "\\", "n"].contains(next))
      read.unicodeScalars.append(next == "n" ? "\n" : next)
    }
    read = read.split(separator: "&amp;", omittingEmptySubsequences: false).joined(separator: "&")
    let visible = String(
      String.UnicodeScalarView(
        name.unicodeScalars.map { $0.value < 0x20 && $0 != "\n" ? " " : $0 }
      )
    )
    #expect(read == visible)
  }

  /// What Mermaid makes of a label before it reads that as Markdown.
  private func decoded(_ text: String) throws -> String {
    var decoded = ""
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      guard scalar == "#" else {
        #expect(!"\"\\`;&<>[](){}|%".unicodeScalars.contains(scalar))
        decoded.unicodeScalars.append(scalar)
        continue
      }
      let digits = rest.prefix { $0 != ";" }
      rest = rest.dropFirst(digits.count + 1)
      let number = try #require(UInt32(String(digits)))
      decoded.unicodeScalars.append(try #require(Unicode.Scalar(number)))
    }
    return decoded
  }

  @Test(arguments: hostile) func `Mermaid receives a name that it can't interpret as markup`(
    name: String
  ) throws {
    let decoded = try decoded(OperationGraph.entities(name))
    // Blocks of Markdown begin with digits or marks, and code that is indented with spaces.
    #expect(decoded.first.map { $0.isLetter || $0 == "\u{200b}" } ?? false)
    // Everything else begins and ends with marks, which mean nothing between spaces.
    let scalars = Array(decoded.unicodeScalars)
    for (index, scalar) in scalars.enumerated()
    where "*_~[]()<>!@:.&\\#+|\"".unicodeScalars.contains(scalar) {
      #expect(scalars[index - 1] == "\u{feff}" && scalars[index + 1] == "\u{feff}")
    }
    let visible = scalars.filter { $0 != "\u{feff}" && $0 != "\u{200b}" }
      .map { $0 == "\u{2cb}" ? "`" : $0 }
    #expect(visible == name.unicodeScalars.map { $0.value < 0x20 ? " " : $0 })
  }

  @Test func `each operation has a unique identifier whatever its name is`() {
    let names = Self.hostile + ["a", "a", "a_2", "a", "a 2", "A"]
    let ids = GraphSnapshot.ids(of: names)
    #expect(Set(ids).count == names.count)
    for id in ids {
      #expect(id.wholeMatch(of: /op_[A-Za-z0-9_]*/) != nil)
    }
    #expect(
      GraphSnapshot.ids(of: ["a", "a", "a_2", "a"]) == ["op_a", "op_a_2", "op_a_2_2", "op_a_3"]
    )
  }
}
