/// A tree for human readers, in which elements are grouped by the common beginning of their origins.
///
/// Headings are in order of appearance. Failures are nested as deeply as the chains of dependencies are, so
/// the tree is created and written without recursion. A failure may be inside many others, so a failure that
/// was shown isn't shown again.
struct FailureTree {
  private struct Node {
    /// The heading of the node; nil if the children of the node are shown in its place.
    var heading: FailureHeading?
    /// The text of a node without children.
    var text: String?
    var children: [Int] = []
  }

  private struct Branch: Hashable {
    let parent: Int
    let heading: FailureHeading
  }

  /// The content to add below a node.
  private enum Content {
    case failure(OperationFailure, isInherited: Bool)
    case conditions([OperationConditionError])
  }

  private var nodes = [Node()]
  private var branches: [Branch: Int] = [:]
  private var due: [(content: Content, parent: Int)] = []
  private var shown: Set<ObjectIdentifier> = []

  init(_ failure: OperationFailure) {
    due = [(.failure(failure, isInherited: false), 0)]
    while let (content, parent) = due.popLast() {
      let begin = due.count
      switch content {
      case .failure(let failure, let isInherited):
        fill(parent, failure, isInherited: isInherited)
      case .conditions(let parts):
        for part in parts { add(.step(.condition(part.condition)), part.underlying, to: parent) }
      }
      // Nodes are filled in reading order.
      due[begin...].reverse()
    }
  }

  // MARK: Making it

  private mutating func append(
    _ heading: FailureHeading?,
    text: String? = nil,
    to parent: Int
  ) -> Int {
    let index = nodes.count
    nodes.append(Node(heading: heading, text: text))
    nodes[parent].children.append(index)
    return index
  }

  private mutating func branch(_ heading: FailureHeading, of parent: Int) -> Int {
    let branch = Branch(parent: parent, heading: heading)
    if let known = branches[branch] { return known }
    let index = append(heading, to: parent)
    branches[branch] = index
    return index
  }

  private mutating func fill(_ node: Int, _ failure: OperationFailure, isInherited: Bool) {
    if wasShown(failure, isInherited: isInherited) {
      nodes[node].text = "as above"
      return
    }
    var way: [FailureHeading] = []
    guard let end = way.appendLongWay(of: failure) else { return fill(node, failure) }
    let last = way.reduce(node) { append($1, to: $0) }
    if wasShown(end, isInherited: true) {
      nodes[last].text = "as above"
    } else {
      fill(last, end)
    }
  }

  private mutating func fill(_ node: Int, _ failure: OperationFailure) {
    let elements = failure.elements
    for element in elements { add(element, to: node) }
    if elements.isEmpty { _ = append(nil, text: "cancelled without a reason", to: node) }
    if let remark = failure.remarkOnOthers { _ = append(nil, text: remark, to: node) }
  }

  private mutating func add(_ element: OperationFailure.Element, to parent: Int) {
    let error = (element.error as? OperationConditionError)?.underlying ?? element.error
    let (path, cause, gaps) = (element.origin.path, element.origin.cause, element.gaps)
    var places = [parent]
    defer { addEnds(of: element, along: places, depth: path.count) }
    for (index, step) in path.enumerated() {
      for gap in gaps where gap.depth == path.count - index {
        _ = append(nil, text: gap.text, to: places[index])
      }
      if index == path.count - 1, element.isSaid(by: step) {
        let isInherited = cause == .dependency && element.isInherited
        add(.step(step), error, isInherited: isInherited, to: places[index])
        if cause == .condition, let node = nodes[places[index]].children.last {
          addPrerequisites(of: element, to: node)
        }
        return
      }
      places.append(branch(.step(step), of: places[index]))
    }
    let place = places[path.count]
    switch cause {
    case .cancel: add(.cancelled, error, to: place)
    case .timeout: add(.timedOut, error, to: place)
    case .skipped(let reason): _ = append(nil, text: "skipped: \(reason)", to: place)
    case .body, .condition, .dependency:
      add(element.isOfRollback ? .rollback : nil, error, to: place)
    }
  }

  /// Adds the reasons why no attempt followed after the last attempt, the innermost reasons first.
  private mutating func addEnds(
    of element: OperationFailure.Element,
    along places: [Int],
    depth: Int
  ) {
    for end in element.ends.sorted(by: { $0.depth < $1.depth }) {
      let place = places[min(max(depth - end.depth, 0), places.count - 1)]
      _ = append(nil, text: end.text, to: place)
    }
  }

  private mutating func addPrerequisites(of element: OperationFailure.Element, to node: Int) {
    for (name, failure) in element.prerequisites {
      due.append((.failure(failure, isInherited: true), append(.prerequisite(name), to: node)))
    }
  }

  private mutating func add(
    _ heading: FailureHeading?,
    _ error: any Error,
    isInherited: Bool = false,
    to parent: Int
  ) {
    switch error {
    case let failure as OperationFailure:
      var node = append(heading, to: parent)
      if let owner = failure.ownerStep(after: heading) {
        node = append(.step(owner), to: node)
      }
      due.append((.failure(failure, isInherited: isInherited), node))
    case let inherited as any InheritedFailure where !inherited.failure.elements.isEmpty:
      let node = append(heading, text: "\(inherited)", to: parent)
      due.append((.failure(inherited.failure, isInherited: true), node))
    case let none as any ConditionFailures where !none.failures.isEmpty:
      due.append((.conditions(none.failures), append(heading, to: parent)))
    case let part as OperationConditionError:
      due.append((.conditions([part]), append(heading, to: parent)))
    default: _ = append(heading, text: "\(error)", to: parent)
    }
  }

  /// Records that a failure is in the tree, and returns true if it already was and is too large to be shown
  /// twice.
  private mutating func wasShown(_ failure: OperationFailure, isInherited: Bool) -> Bool {
    if failure.isNew(among: &shown) { return false }
    return isInherited || failure.elements.contains { $0.error is OperationFailure }
  }

  // MARK: Writing it

  /// The maximum number of levels that are indented.
  ///
  /// Without a maximum, the text would grow with the square of the depth.
  private static let deepest = 24

  func lines(depth: Int) -> [String] {
    var lines: [String] = []
    var due = [(node: 0, depth: 0)]
    while let (node, level) = due.popLast() {
      let (way, end) = way(from: node)
      let headings = way.compactMap { nodes[$0].heading }.texts
      for (index, heading) in headings.enumerated() {
        let text = index == headings.count - 1 ? nodes[end].text.map { ": " + $0 } ?? "" : ""
        Self.write(heading + text, depth, level + index, to: &lines)
      }
      if headings.isEmpty, let text = nodes[end].text { Self.write(text, depth, level, to: &lines) }
      let children = nodes[end].children.reversed()
      due += children.map { ($0, level + headings.count) }
    }
    return lines
  }

  /// Returns a node and its descendants, as long as each has a single child.
  private func way(from node: Int) -> (headings: [Int], end: Int) {
    var headings = nodes[node].heading == nil ? [] : [node]
    var end = node
    while nodes[end].text == nil, nodes[end].children.count == 1,
      let child = nodes[end].children.first, nodes[child].text == nil
    {
      end = child
      if nodes[child].heading != nil { headings.append(child) }
    }
    return (headings, end)
  }

  private static func write(
    _ text: String,
    _ depth: Int,
    _ level: Int,
    to lines: inout [String]
  ) {
    let indent = String(repeating: "  ", count: max(depth, 0) + min(level, deepest))
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      lines.append(index == 0 ? indent + line : indent + "  " + line)
    }
  }
}

extension OperationFailure.Element {
  /// Returns true if the last step of the path is the complete description of the origin.
  fileprivate func isSaid(by step: OperationFailure.Origin.Step) -> Bool {
    if case .attempt = step, origin.cause == .body { return !isOfRollback }
    return origin.cause.isSaid(by: step)
  }
}
