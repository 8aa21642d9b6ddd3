extension Step {
  /// The steps whose outcomes decide whether this one runs.
  package var outcomeSteps: [String] {
    when.flatMap { condition -> [String] in
      if case .outcome(let expression) = condition { expression.steps } else { [] }
    }
  }

  /// Whether it runs by how others ended, and not only when they succeeded.
  package var followsOutcomes: Bool { !outcomeSteps.isEmpty }

  /// What has to end before it: what it needs, and what its outcomes name.
  package var predecessors: [String] { needs + outcomeSteps.filter { !needs.contains($0) } }
}
