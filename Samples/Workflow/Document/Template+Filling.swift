/// The values that places of templates get.
public struct TemplateValues: Sendable, Equatable {
  /// Of the step's combination, by axis.
  public var matrix: [String: String]
  /// Variables: the step's before the workflow's before the runner's.
  public var environment: [String: String]
  /// What steps gave, by their ids.
  public var outputs: [String: [String: String]]
  /// What was given when the workflow was run, by the names of parameters.
  public var parameters: [String: String]
  /// The name of the run.
  public var run: String

  /// Creates values.
  public init(
    matrix: [String: String] = [:],
    environment: [String: String] = [:],
    outputs: [String: [String: String]] = [:],
    parameters: [String: String] = [:],
    run: String
  ) {
    self.matrix = matrix
    self.environment = environment
    self.outputs = outputs
    self.parameters = parameters
    self.run = run
  }

  /// The value of a place.
  ///
  /// - Throws: ``TemplateError`` if there is none, or if no program could be given it.
  public func value(of part: Template.Part) throws(TemplateError) -> String {
    let value: String?
    switch part {
    case .text(let text): value = text
    case .matrix(let name): value = matrix[name]
    case .environment(let name): value = environment[name]
    case .output(let step, let name): value = outputs[step]?[name]
    case .parameter(let name): value = parameters[name]
    case .run: value = run
    }
    guard let value else { throw TemplateError(part: part, isMissing: true) }
    guard !value.utf8.contains(0) else { throw TemplateError(part: part, isMissing: false) }
    return value
  }
}

/// A place of a template that can't be filled.
public struct TemplateError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The place.
  public var part: Template.Part
  /// Whether there is no value; otherwise the value has a character U+0000.
  public var isMissing: Bool
  /// Whether the step was skipped that gives the value.
  public var isSkipped = false

  /// Creates an error.
  public init(part: Template.Part, isMissing: Bool) {
    self.part = part
    self.isMissing = isMissing
  }

  /// A sentence without a full stop.
  public var description: String {
    let text: String
    switch part {
    case .text: text = "a text"
    case .matrix(let name): text = "the value ‘\(name)’ of the matrix"
    case .environment(let name): text = "the variable ‘\(name)’"
    case .output(let step, let name): text = "the output ‘\(name)’ of the step ‘\(step)’"
    case .parameter(let name): text = "the parameter ‘\(name)’"
    case .run: text = "the name of the run"
    }
    guard isMissing else { return "\(text) has a character U+0000" }
    if case .output(let step, let name) = part {
      let verb = isSkipped ? "was skipped, and so gave" : "gave"
      return "the step ‘\(step)’ \(verb) no output ‘\(name)’"
    }
    return "\(text) isn’t set"
  }
}

extension Template {
  /// The text with all places filled, for what no shell reads.
  ///
  /// - Throws: ``TemplateError`` for the first place without a value.
  public func filled(_ values: TemplateValues) throws(TemplateError) -> String {
    var text = ""
    for part in parts { text += try values.value(of: part) }
    return text
  }

  /// Whether it has places for values.
  package var hasPlaces: Bool {
    parts.contains { if case .text = $0 { false } else { true } }
  }

  /// The text as a file has it: `swift-${{ matrix.swift }}`.
  public var text: String {
    parts.map { part in
      switch part {
      // A file writes the beginning of a place so that it isn't one.
      case .text(let text): text.replacing("${{", with: "${{ '${{' }}")
      case .matrix(let name): "${{ matrix.\(name) }}"
      case .environment(let name): "${{ env.\(name) }}"
      case .output(let step, let name): "${{ steps.\(step).\(name) }}"
      case .parameter(let name): "${{ parameters.\(name) }}"
      case .run: "${{ run.id }}"
      }
    }
    .joined()
  }
}

/// A command with all of its places filled.
public enum FilledCommand: Sendable, Equatable {
  /// A line for `/bin/sh -c`, and the variables through which values get into it.
  case shell(String, variables: [String: String])
  /// A program and its arguments.
  case arguments([String])
}

extension Command {
  /// The command with all places filled; no value can become a part of a shell's program.
  ///
  /// - Throws: ``TemplateError`` for the first place without a value.
  public func filled(_ values: TemplateValues) throws(TemplateError) -> FilledCommand {
    switch self {
    case .shell(let template):
      let shell = ShellText(template)
      var variables: [String: String] = [:]
      for variable in shell.variables {
        variables[variable.name] = try values.value(of: variable.part)
      }
      return .shell(shell.text, variables: variables)
    case .arguments(let templates):
      var arguments: [String] = []
      for template in templates { arguments.append(try template.filled(values)) }
      return .arguments(arguments)
    }
  }

  /// The command as a file has it, on one line, for people.
  public var text: String {
    switch self {
    case .shell(let template): template.text
    case .arguments(let templates): templates.map(\.text).joined(separator: " ")
    }
  }
}

extension Workflow {
  /// The values of a step's places: those of its matrix, and all of its variables.
  ///
  /// `env.NAME` in a variable of the workflow is the runner's; in one of the step, it is the
  /// workflow's, or else the runner's. So no variable can refer to itself.
  ///
  /// - Parameters:
  ///   - step: The step.
  ///   - inherited: The runner's variables.
  ///   - outputs: What steps gave, by their ids.
  ///   - run: The name of the run.
  /// - Returns: The values; their environment is all that the step's command gets, but for the
  ///   variables of ``FilledCommand/shell(_:variables:)`` and those that the runner adds.
  /// - Throws: ``TemplateError`` for the first variable without a value.
  public func values(
    for step: Step,
    inherited: [String: String],
    outputs: [String: [String: String]],
    run: String
  ) throws(TemplateError) -> TemplateValues {
    var values = TemplateValues(environment: inherited, outputs: outputs, run: run)
    values.parameters = parameters.compactMapValues(\.self)
    for value in step.matrix { values.matrix[value.name] = value.value }
    for variables in [environment, step.environment] {
      let before = values
      for (name, template) in variables.sorted(by: { $0.key < $1.key }) {
        values.environment[name] = try template.filled(before)
      }
    }
    return values
  }
}
