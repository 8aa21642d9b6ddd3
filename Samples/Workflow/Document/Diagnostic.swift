/// A mistake in a file: what, where, and how to mend it.
public struct Diagnostic: Error, Sendable, Equatable {
  /// Where it is, from 1; nil where it is about the whole file.
  public var line: Int?
  /// In characters, from 1.
  public var column: Int?
  /// What is wrong, in a sentence without a full stop.
  public var message: String
  /// How to mend it: “did you mean ‘build’?”.
  public var suggestion: String?

  /// Creates a diagnostic.
  public init(line: Int?, column: Int?, message: String, suggestion: String? = nil) {
    self.line = line
    self.column = column
    self.message = message
    self.suggestion = suggestion
  }
}
