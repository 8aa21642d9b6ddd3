extension AdvancedOperation {
  /// What a cancel does to an operation that is executing.
  ///
  /// A body that has to wind up says so, and is told:
  ///
  /// ```swift
  /// final class Upload: AdvancedOperation, @unchecked Sendable {
  ///   let connection = Connection()
  ///   override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }
  ///   override func execute() { connection.send(file) { self.finish() } }
  ///   override func cancelled(withErrors errors: [any Error]) { connection.abort() }
  /// }
  /// ```
  public enum CancellationPolicy: Sendable {
    /// It finishes at once; a later `finish` of its body is ignored.
    case finishImmediately
    /// It finishes when its body returned or called `finish()`.
    case whenFinishIsCalled
  }

  /// How many of the conditions are asked.
  public enum ConditionPolicy: Sendable {
    /// All at once; every failure is reported.
    case evaluateAll
    /// One after the other, until one doesn't hold.
    case stopAtFirstFailure
  }
}
