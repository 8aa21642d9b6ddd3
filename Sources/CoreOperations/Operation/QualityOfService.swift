/// A class that describes the importance of work to the person who uses the program.
///
/// ```swift
/// let backups = OperationQueue()
/// backups.qualityOfService = .background
/// ```
///
/// On Apple's systems, the class of a queue determines the threads of its workers: see
/// ``OperationQueue/qualityOfService``. On Linux and Android, all threads of the shared pool have
/// the same class. The class of an operation has no effect on any system, because an
/// ``OperationExecutor`` receives workers, which run operations of several classes.
public enum QualityOfService: Int, Sendable {
  /// The user interface waits for the work, such as an animation.
  case userInteractive = 0x21
  /// The user has started the work and waits for it.
  case userInitiated = 0x19
  /// The work takes some time, usually with a progress bar.
  case utility = 0x11
  /// The user doesn't see the work, such as a backup.
  case background = 0x09
  /// The work has no given class.
  case `default` = -1
}
