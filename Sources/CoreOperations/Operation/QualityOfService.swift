/// The importance of work to the person who uses the program.
///
/// ```swift
/// let backups = OperationQueue()
/// backups.qualityOfService = .background
/// ```
///
/// On Apple's systems, the class of a queue chooses the threads of its workers: see
/// ``OperationQueue/qualityOfService``. On Linux and Android, all threads of the shared pool have
/// the same class. The class of an operation has no effect on any system: an ``OperationExecutor``
/// gets workers, which run operations of several classes.
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
