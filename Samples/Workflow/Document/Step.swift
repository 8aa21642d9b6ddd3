/// One command of a workflow, and what has to hold for it.
public struct Step: Sendable, Equatable, Codable {
  /// What it is called; a combination of a matrix is `test@linux,6.3`.
  public var id: String
  /// What the file calls it: the same, without the combination.
  public var base: String
  /// What is run.
  public var command: Command
  /// The steps that have to end first, by `id`.
  ///
  /// The step runs when all of them succeeded or were skipped, unless `when` has an outcome.
  public var needs: [String] = []
  /// When it runs; it is skipped when one of these doesn't hold.
  public var when: [StepCondition] = []
  /// What it can't do without; it fails when one of these doesn't hold.
  public var require: [StepCondition] = []
  /// Names of what one step at a time may have.
  public var exclusive: [String] = []
  /// How much of the workflow's resources it holds while it runs.
  public var uses: [String: ResourceAmount] = [:]
  /// How often steps with the same keys may start.
  public var rates: [Rate] = []
  /// What happens when it fails; nil: that counts.
  public var retry: RetryRule?
  /// How long an attempt may take; nil: as long as it wants.
  public var timeout: Duration?
  /// What undoes it, when the run fails after it succeeded.
  public var rollback: Command?
  /// Variables that it sees, besides those of the workflow.
  public var environment: [String: Template] = [:]
  /// The folder that it runs in, relative to that of the file; nil: that of the file.
  public var workingDirectory: Template?
  /// The shell that runs its scripts; nil: ``Shell/standard``.
  public var shell: Shell?
  /// Whether it has the terminal, to ask for something.
  public var isInteractive = false
  /// The values of its combination of the matrix, in the order of the file.
  public var matrix: [MatrixValue] = []
  /// The names of the values that it gives to later steps.
  public var outputs: [String] = []
  /// Where it stands in the file, from 1.
  public var line: Int

  /// Whether a shell reads its command, or what undoes it.
  public var hasScript: Bool {
    [command, rollback].contains { if case .shell = $0 { true } else { false } }
  }

  /// Creates a step.
  public init(id: String, base: String? = nil, command: Command, line: Int = 0) {
    self.id = id
    self.base = base ?? id
    self.command = command
    self.line = line
  }
}

/// A value of a matrix that a step was made for.
public struct MatrixValue: Sendable, Equatable, Codable {
  /// The name of the axis.
  public var name: String
  /// Its value.
  public var value: String

  /// Creates a value.
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// How often steps may start: `rate: {registry: 10/min}`.
public struct Rate: Sendable, Equatable, Codable {
  /// Steps with the same key share the rate.
  public var key: String
  /// How many starts.
  public var count: Int
  /// In how long a time.
  public var duration: Duration

  /// Creates a rate.
  public init(key: String, count: Int, per duration: Duration) {
    self.key = key
    self.count = count
    self.duration = duration
  }
}

/// What happens when a step fails: `retry: {attempts: 3, delay: 1s, backoff: exponential}`.
public struct RetryRule: Sendable, Equatable, Codable {
  /// How the time between two attempts grows.
  public enum Backoff: String, Sendable, Codable, CaseIterable {
    /// The same each time.
    case constant
    /// Once, twice, three times as long.
    case linear
    /// Twice as long each time.
    case exponential
  }

  /// How many attempts there are in all; nil: as many as fit into `total`.
  public var attempts: Int?
  /// The time before the second attempt.
  public var delay: Duration = .seconds(1)
  /// How it grows.
  public var backoff: Backoff = .exponential
  /// The longest time between two attempts; nil: any.
  public var maximumDelay: Duration?
  /// Whether the time is drawn between none and all of it.
  public var hasJitter = false
  /// How long all attempts may take together; nil: any time.
  public var total: Duration?

  /// The longest delay that a failed command may ask for; nil: it can't ask.
  public var retryAfter: Duration?

  /// Creates a rule.
  public init(attempts: Int?) { self.attempts = attempts }
}
