/// A workflow as its file describes it: checked, with one step for each combination of a matrix.
public struct Workflow: Sendable, Equatable, Codable {
  /// What the file calls it; the file's name without its ending by default.
  public var name: String
  /// Variables that every step sees.
  public var environment: [String: Template]
  /// What steps share, by name: how much there is of it in all.
  public var resources: [String: ResourceAmount]
  /// What is given when it is run, by name, with the values; nil: none was given, and there is no default.
  public var parameters: [String: String?] = [:]
  /// Files with variables that every step sees unless the runner has them, relative to the file.
  public var environmentFiles: [String] = []
  /// The names of variables whose values aren't shown.
  public var secrets: [String] = []
  /// In the order of the file, the combinations of a matrix in that of their values.
  public var steps: [Step]

  /// Creates a workflow.
  public init(
    name: String,
    environment: [String: Template] = [:],
    resources: [String: ResourceAmount] = [:],
    steps: [Step] = []
  ) {
    self.name = name
    self.environment = environment
    self.resources = resources
    self.steps = steps
  }
}
