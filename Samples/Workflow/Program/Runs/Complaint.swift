import Foundation
import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// What is wrong with what somebody asked for, what is right, and the exit status.
struct Complaint: Error, Equatable, CustomStringConvertible {
  /// What went wrong, for shells.
  enum Status: Int32 {
    /// Steps failed, or the program did.
    case failure = 1
    /// The file, the run or a journal is not what it should be, and nothing ran.
    case mistakes = 2
    /// The arguments are wrong.
    case usage = 64
  }

  var status: Status
  /// Lines of text.
  var description: String
  /// Whether each mistake says where it is, as compilers do.
  private var isPlaced = false

  init(_ status: Status, _ description: String) {
    self.status = status
    self.description = description
  }

  /// The mistakes of a file, with their lines.
  init(mistakes: WorkflowFile.Mistakes, in path: String) {
    status = .mistakes
    let isColoured = StandardStream.error.hasColour(ProcessInfo.processInfo.environment)
    description = String(mistakes.text(file: path, isColoured: isColoured).dropLast())
    isPlaced = true
  }

  /// What an error of the runner says to people; nil of an error of the command line.
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - hasBegun: Whether a run had begun when it came, so that steps may have run.
  init?(_ error: any Error, hasBegun: Bool = false) {
    let status: Status
    switch error {
    case let complaint as Complaint:
      self = complaint
      return
    case is RunError, is RunFolderError, is JournalError:
      status = hasBegun ? .failure : .mistakes
    case is StreamProblem: status = .failure
    default: return nil
    }
    let text = "\(error)"
    self.init(status, text.hasSuffix(".") ? String(text.dropLast()) : text)
  }

  /// What is written to standard error.
  var text: TerminalText {
    // The mistakes have no characters of the file in them that a terminal would obey.
    isPlaced ? TerminalText(filtered: "\(description)\n") : "workflow: \(description)\n"
  }
}
