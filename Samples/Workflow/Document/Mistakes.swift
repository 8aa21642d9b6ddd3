import TerminalSupport

extension WorkflowFile {
  /// All mistakes of a file, in the order of their lines.
  public struct Mistakes: Error, Sendable, CustomStringConvertible {
    /// The mistakes.
    public var diagnostics: [Diagnostic]
    /// The text that they are in; empty if it isn't one.
    public var source: String

    /// Creates mistakes.
    public init(_ diagnostics: [Diagnostic], in source: String) {
      self.diagnostics = diagnostics
      self.source = source
    }

    /// All of them as a compiler prints them, each with its line, and how many there are.
    ///
    /// ```
    /// release.yml:7:12: error: the step ‘test’ needs ‘biuld’, which doesn’t exist
    ///  7 |     needs: biuld
    ///    |            ^
    ///    help: did you mean ‘build’?
    ///
    /// one mistake in release.yml
    /// ```
    ///
    /// - Parameters:
    ///   - file: The name of the file.
    ///   - isColoured: Whether a terminal shows it.
    ///   - limit: How many are shown; the others are counted.
    /// - Returns: Lines, each with its end; characters that a terminal obeys are only there if it is
    ///   coloured, and none of them is the file's.
    public func text(file: String, isColoured: Bool = false, limit: Int = 50) -> String {
      let source = SourceText(source)
      var text = ""
      for diagnostic in diagnostics.prefix(limit) {
        text += diagnostic.text(file: file, source: source, isColoured: isColoured) + "\n"
      }
      let name = file.printable()
      let count = diagnostics.count == 1 ? "one mistake" : "\(diagnostics.count) mistakes"
      text += "\(count) in \(name)"
      if diagnostics.count > limit { text += ", the first \(limit) of which are shown" }
      return text + "\n"
    }

    /// All of them, without the file's name and lines.
    public var description: String {
      diagnostics.map { diagnostic in
        let place = diagnostic.line.map { "line \($0): " } ?? ""
        let help = diagnostic.suggestion.map { " (\($0))" } ?? ""
        return (place + diagnostic.message + help).printable()
      }
      .joined(separator: "\n")
    }
  }
}
