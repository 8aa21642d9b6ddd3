public import AdvancedOperations

/// Drawings of operations with their states and dependencies.
extension OperationGraph {
  /// Returns the graph in the language of Graphviz, whose command `dot -Tsvg` draws it.
  ///
  /// ```swift
  /// print(queue.graph.dot())                                // for Graphviz: dot -Tsvg
  /// print(OperationGraph(of: [download, store]).mermaid())  // for Markdown
  /// ```
  ///
  /// Arrows point from an operation to the operations that wait for it. Dashed arrows point from an operation
  /// to the operations that it produced. A dashed box is an operation that isn't a member of the graph.
  /// Children are in a frame with their group. Long names are wrapped, and very long names are shortened in
  /// the middle.
  ///
  /// Graphviz lays out a few thousand nodes in a minute. Use `filter(_:)` for a part of a larger graph.
  ///
  /// - Returns: A `digraph`.
  public func dot() -> String {
    var lines = [
      "digraph operations {",
      "  rankdir=LR;",
      "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11];",
      "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\"];",
    ]
    let children = childrenByGroup
    walk(children) { step, depth in
      let indent = Self.indent(depth + 1)
      switch step {
      case .node(let node):
        let shape = children[node.id] == nil ? "" : ", shape=folder, style=filled"
        let frame = node.isMember ? "" : ", style=\"rounded,filled,dashed\""
        let name = FoldedName.lines(of: node.name).map(Self.quoted)
        let texts = [node.statusText] + (node.waitReason.map { [Self.quoted($0)] } ?? [])
        let label = (name + texts).joined(separator: "\\n")
        let whole = name.count == 1 ? "" : ", tooltip=\"\(Self.quoted(node.name))\""
        let color = ", fillcolor=\"\(node.status.color)\""
        lines.append("\(indent)\(node.id) [label=\"\(label)\"\(color)\(shape)\(frame)\(whole)];")
      case .open(let group):
        lines.append("\(indent)subgraph cluster_\(group) {")
        lines.append("\(indent)  style=\"rounded\"; color=\"#999999\"; label=\"\";")
      case .close: lines.append("\(indent)}")
      }
    }
    for edge in edges {
      let style = edge.kind == .produced ? " [style=dashed, label=\"produced\"]" : ""
      lines.append("  \(edge.from) -> \(edge.to)\(style);")
    }
    return lines.joined(separator: "\n") + "\n}\n"
  }

  /// Returns the graph as a Mermaid flowchart, which many Markdown viewers draw.
  ///
  /// Arrows point from an operation to the operations that wait for it. Dotted arrows point from an operation
  /// to the operations that it produced. Children are in a frame with their group. Long names are wrapped, and
  /// very long names are shortened in the middle.
  ///
  /// Mermaid refuses more than 500 edges, unless its `maxEdges` allows them. Use `filter(_:)` for a part of a
  /// larger graph.
  ///
  /// - Returns: A `flowchart`.
  public func mermaid() -> String {
    var lines = ["flowchart LR"]
    let children = childrenByGroup
    walk(children) { step, depth in
      let indent = Self.indent(depth + 1)
      switch step {
      case .node(let node):
        let name = FoldedName.lines(of: node.name).map(Self.entities)
        let texts = [node.statusText] + (node.waitReason.map { [Self.entities($0)] } ?? [])
        let label = (name + texts).joined(separator: "<br/>")
        let (left, right) = children[node.id] == nil ? ("(", ")") : ("[[", "]]")
        lines.append("\(indent)\(node.id)\(left)\"\(label)\"\(right):::\(node.status.rawValue)")
      case .open(let group): lines.append("\(indent)subgraph in_\(group)[\" \"]")
      case .close: lines.append("\(indent)end")
      }
    }
    for edge in edges {
      lines.append(
        "  \(edge.from) \(edge.kind == .produced ? "-. produced .->" : "-->") \(edge.to)"
      )
    }
    for status in OperationStatus.allCases where nodes.contains(where: { $0.status == status }) {
      lines.append("  classDef \(status.rawValue) fill:\(status.color),stroke:#555,color:#000")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: Walking

  private enum Step {
    case node(Node)
    case open(group: String)
    case close
  }

  private var childrenByGroup: [String: [Node]] {
    Dictionary(grouping: nodes.filter { $0.group != nil }) { $0.group ?? "" }
  }

  /// Visits each node once, and the children of a group inside of the group; the depth is the depth of the
  /// nesting.
  private func walk(_ children: [String: [Node]], _ visit: (Step, _ depth: Int) -> Void) {
    var stack: [Step] = nodes.filter { $0.group == nil }.reversed().map { .node($0) }
    var depth = 0
    while let step = stack.popLast() {
      switch step {
      case .node(let node):
        guard let inside = children[node.id] else {
          visit(step, depth)
          continue
        }
        visit(.open(group: node.id), depth)
        depth += 1
        visit(step, depth)
        stack.append(.close)
        stack += inside.reversed().map { .node($0) }
      case .open: break
      case .close:
        depth -= 1
        visit(step, depth)
      }
    }
  }

  /// Returns an indent up to a limit, because the text would otherwise grow with the square of the depth.
  private static func indent(_ depth: Int) -> String {
    String(repeating: "  ", count: min(depth, 16))
  }

  // MARK: Escaping

  /// Escapes text for a label in double quotes, in which Graphviz interprets backslashes and entities.
  package static func quoted(_ text: String) -> String {
    text.escaped { scalar in
      switch scalar {
      case "\"": "\\\""
      case "\\": "\\\\"
      case "&": "&amp;"
      case "\n": "\\n"
      default: scalar.isControl ? " " : nil
      }
    }
  }

  /// Escapes text for a line of a label in double quotes, in which Mermaid interprets its own entities and
  /// directives, then HTML and Markdown.
  ///
  /// ASCII characters are written as numbers, except letters, digits and characters without a meaning in
  /// Mermaid. Version 11 reads these numbers before the Markdown, and draws “Unsupported markdown” for a name
  /// such as *1. fetch* or a name with an address. Therefore a character without a width is at the beginning,
  /// where Markdown blocks begin. Spaces without a width are on both sides of each mark, where emphasis and
  /// links would begin or end.
  package static func entities(_ text: String) -> String {
    let marks = text.escaped { scalar in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", " ", ",", "-": nil
      // A pair of backticks always encloses code: write a character that looks the same.
      case "`": "\u{2cb}"
      default:
        scalar.isControl ? " " : scalar.isASCII ? "\u{feff}#\(scalar.value);\u{feff}" : nil
      }
    }
    return text.first?.isLetter == true ? marks : "\u{200b}" + marks
  }
}

extension OperationGraph.Node {
  var status: OperationStatus { OperationStatus(state, outcome) }

  /// The state in words.
  var statusText: String {
    (isCancelled && outcome == nil ? "cancelled, " : "") + status.text
  }
}
