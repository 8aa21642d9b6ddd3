/// What a step runs.
public enum Command: Sendable, Equatable, Codable {
  /// A line for `/bin/sh -c`.
  case shell(Template)
  /// A program and its arguments, with no shell between.
  case arguments([Template])
}

/// A text with places for values: `swift-${{ matrix.swift }}`.
public struct Template: Sendable, Equatable, Codable {
  /// A part of a template.
  public enum Part: Sendable, Equatable, Codable {
    /// Text as it is.
    case text(String)
    /// A value of the step's combination of the matrix: `${{ matrix.NAME }}`.
    case matrix(String)
    /// A variable of the workflow or of the runner: `${{ env.NAME }}`.
    case environment(String)
    /// A value that an earlier step gave: `${{ steps.ID.NAME }}`.
    case output(step: String, name: String)
    /// A value that is given when the workflow is run: `${{ parameters.NAME }}`.
    case parameter(String)
    /// The name of the run: `${{ run.id }}`.
    case run
  }

  /// The parts, in order.
  public var parts: [Part]

  /// Creates a template.
  public init(_ parts: [Part]) { self.parts = parts }

  /// Creates a template without places.
  public init(text: String) { parts = text.isEmpty ? [] : [.text(text)] }
}
