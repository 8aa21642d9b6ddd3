import Testing
import WorkflowDocument

/// A file with a mistake of one kind, and what is shown of it.
struct FileMistake: Sendable, CustomTestStringConvertible {
  /// The kind.
  var kind: String
  /// The text of the file.
  var file: String
  /// What is shown.
  var shown: String

  init(_ kind: String, _ file: String, _ shown: String) {
    self.kind = kind
    self.file = file
    self.shown = shown
  }

  var testDescription: String { kind }

  /// Compares what is shown with what should be.
  func check(sourceLocation: SourceLocation = #_sourceLocation) {
    do {
      _ = try WorkflowFile.workflow(from: file, name: "f")
      Issue.record("\(kind): read without a mistake", sourceLocation: sourceLocation)
    } catch {
      var lines = error.text(file: "f.yml").split(separator: "\n", omittingEmptySubsequences: false)
      // How many there are, and what ends the line.
      lines.removeLast(3)
      let text = lines.joined(separator: "\n")
      #expect(text == shown, "\(kind)\n\(text)", sourceLocation: sourceLocation)
    }
  }
}
