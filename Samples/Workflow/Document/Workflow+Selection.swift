import TerminalSupport

extension Workflow {
  /// Names of steps that a workflow doesn't have.
  public struct UnknownSteps: Error, Sendable, Equatable, CustomStringConvertible {
    /// The names, each with the name that was probably meant.
    public var names: [Name]

    /// A name that there is not.
    public struct Name: Sendable, Equatable {
      /// What was asked for.
      public var name: String
      /// What was probably meant, if a name is close.
      public var suggestion: String?
    }

    /// A line for each name.
    public var description: String {
      names.map { name in
        let help = name.suggestion.map { "; did you mean ‘\($0)’?" } ?? ""
        return "there is no step ‘\(name.name.excerpt())’\(help)"
      }
      .joined(separator: "\n")
    }
  }

  /// Some of the steps, with all that they need, in the same order.
  ///
  /// - Parameter names: Ids of steps; what the file calls a step with a matrix means all of its
  ///   combinations. An empty list means no step at all.
  /// - Returns: The workflow with these steps.
  /// - Throws: ``UnknownSteps``, with all names that there are not.
  /// - Complexity: Linear in steps and needs.
  public func only(_ names: [String]) throws(UnknownSteps) -> Workflow {
    let byId = Dictionary(zip(steps.map(\.id), steps.indices)) { first, _ in first }
    let byBase = Dictionary(grouping: steps.indices) { steps[$0].base }
    var open: [Int] = []
    var unknown: [UnknownSteps.Name] = []
    for name in names {
      if let index = byId[name] {
        open.append(index)
      } else if let indices = byBase[name] {
        open += indices
      } else {
        let known = byId.keys.sorted() + byBase.keys.sorted()
        unknown.append(
          UnknownSteps.Name(name: name, suggestion: NearestName.nearest(to: name, among: known))
        )
      }
    }
    guard unknown.isEmpty else { throw UnknownSteps(names: unknown) }
    var chosen = Set(open)
    while let index = open.popLast() {
      for need in steps[index].predecessors {
        if let number = byId[need], chosen.insert(number).inserted { open.append(number) }
      }
    }
    var workflow = self
    workflow.steps = steps.indices.filter(chosen.contains).map { steps[$0] }
    return workflow
  }
}
