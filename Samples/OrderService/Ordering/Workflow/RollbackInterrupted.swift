/// A rollback was interrupted, because the program stops; it goes on after the restart.
public struct RollbackInterrupted: Error, Hashable, Sendable, CustomStringConvertible {
  /// Creates the error.
  public init() {}

  /// One sentence.
  public var description: String { "The program stops; the rollback continues after the restart." }
}
