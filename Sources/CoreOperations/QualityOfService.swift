/// How much work matters to the person who uses the program.
///
/// ```swift
/// let backup = BlockOperation { copyEverything() }
/// backup.qualityOfService = .background
/// ```
///
/// Recorded for the executor; the pool of threads on Linux has one class of threads and ignores it.
public enum QualityOfService: Int, Sendable {
  /// Work that a person waits for while interacting.
  case userInteractive = 0x21
  /// Work that a person asked for and waits for.
  case userInitiated = 0x19
  /// Work with a progress bar that nobody stares at.
  case utility = 0x11
  /// Work that nobody sees.
  case background = 0x09
  /// No class given.
  case `default` = -1
}
