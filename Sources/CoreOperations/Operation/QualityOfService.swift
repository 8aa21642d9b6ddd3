/// A level of importance that work has for the user of the program.
///
/// ```swift
/// let backups = OperationQueue()
/// backups.qualityOfService = .background
/// ```
///
/// On Apple's systems, the level of a queue determines the threads of its workers: see
/// ``OperationQueue/qualityOfService``. On Linux and Android, it has no effect, because all threads
/// of the shared pool have the same priority. The level of an operation has no effect on any
/// system, because one worker runs operations of different levels.
public enum QualityOfService: Int, Sendable {
  /// The user interface waits for the work, such as an animation.
  case userInteractive = 0x21
  /// The user has started the work and waits for it.
  case userInitiated = 0x19
  /// The work takes some time, usually with a progress bar.
  case utility = 0x11
  /// The user doesn't see the work, such as a backup.
  case background = 0x09
  /// No level was chosen for the work.
  case `default` = -1
}
