/// How much work matters to the person who uses the program.
///
/// ```swift
/// let backup = BlockOperation { copyEverything() }
/// backup.qualityOfService = .background
/// ```
///
/// Kept for executors, which may use it. The shared pool of threads on Linux has one class of
/// threads and ignores it.
public enum QualityOfService: Int, Sendable {
  /// Work that the user interface waits for, such as an animation.
  case userInteractive = 0x21
  /// Work that the user has started and waits for.
  case userInitiated = 0x19
  /// Work that takes some time, usually with a progress bar.
  case utility = 0x11
  /// Work that the user doesn't see, such as a backup.
  case background = 0x09
  /// No class given.
  case `default` = -1
}
