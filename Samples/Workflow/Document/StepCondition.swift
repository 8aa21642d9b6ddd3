/// Something that has to hold before a step runs.
public enum StepCondition: Sendable, Equatable, Codable {
  /// All of these files are there.
  case exists([Template])
  /// None of these files is there.
  case missing([Template])
  /// One of the inputs was changed after the oldest of the outputs, or one of the outputs is missing.
  case newer(inputs: [Template], outputs: [Template])
  /// The variable is set, to that value if there is one.
  case environment(name: String, value: Template?)
  /// A host accepts connections.
  case reachable(host: Template, port: Int)
  /// So many bytes are free where that path is.
  case freeDisk(bytes: Int, path: Template)
  /// How other steps ended.
  case outcome(OutcomeExpression)
}

/// How steps ended, as an expression: `failed(test) || skipped(build) && !cancelled(lint)`.
public indirect enum OutcomeExpression: Sendable, Equatable, Codable {
  /// How a step can end.
  public enum Outcome: String, Sendable, Codable, CaseIterable {
    case succeeded, failed, skipped, cancelled
  }

  /// A step, by its `id`, has that outcome. `failed(test)` of a matrix is `or` of its combinations,
  /// `succeeded(test)` is `and` of them, and so are `skipped` and `cancelled`: `or`.
  case step(String, is: Outcome)
  case not(OutcomeExpression)
  case and(OutcomeExpression, OutcomeExpression)
  case or(OutcomeExpression, OutcomeExpression)
}
