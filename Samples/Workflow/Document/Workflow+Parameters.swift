import TerminalSupport

extension Workflow {
  /// A value for a parameter that there is not, or none for one that needs it.
  public enum ParameterProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The workflow has no such parameter; the one that was probably meant, and all that there are.
    case unknown(String, suggestion: String?, all: [String])
    /// Parameters without a default that were given no value.
    case missing([String])

    /// A part of a sentence, with what to do.
    public var description: String {
      switch self {
      case .unknown(let name, let suggestion?, _):
        "there is no parameter ‘\(name.excerpt())’; did you mean ‘\(suggestion)’?"
      case .unknown(let name, nil, let all) where all.isEmpty:
        "there is no parameter ‘\(name.excerpt())’: the workflow has none"
      case .unknown(let name, nil, let all):
        "there is no parameter ‘\(name.excerpt())’; there are \(FieldReader.list(all))"
      case .missing(let names):
        "the workflow needs a value for \(FieldReader.list(names)): give it behind the file, like "
          + "‘\(names[0])=VALUE’"
      }
    }
  }

  /// The workflow with values for its parameters.
  ///
  /// - Parameters:
  ///   - values: Values by the names of parameters; the others keep their defaults.
  ///   - needsAll: Whether each parameter has to have a value.
  /// - Returns: The workflow with the values.
  /// - Throws: ``ParameterProblem``.
  public func setting(
    _ values: [String: String],
    needsAll: Bool = true
  ) throws(ParameterProblem) -> Workflow {
    let names = parameters.keys.sorted()
    if let name = values.keys.sorted().first(where: { parameters[$0] == nil }) {
      let suggestion = NearestName.nearest(to: name, among: names)
      throw .unknown(name, suggestion: suggestion, all: names)
    }
    var workflow = self
    for (name, value) in values { workflow.parameters[name] = .some(value) }
    let missing = names.filter { workflow.parameters[$0] == .some(nil) }
    if needsAll, !missing.isEmpty { throw .missing(missing) }
    return workflow
  }
}
