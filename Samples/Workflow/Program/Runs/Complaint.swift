import TerminalSupport

/// What is wrong with what somebody asked for, what is right, and the exit status.
struct Complaint: Error, Equatable, CustomStringConvertible {
  /// What went wrong, for shells.
  enum Status: Int32 {
    /// Steps failed, or the program did.
    case failure = 1
    /// The file has mistakes.
    case mistakes = 2
    /// The arguments are wrong.
    case usage = 64
  }

  var status: Status
  /// Lines of text.
  var description: String

  init(_ status: Status, _ description: String) {
    self.status = status
    self.description = description
  }
}
