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
    ///
    /// ``AdvancedOperation/cancelled(withErrors:)`` is called before its observers are notified of
    /// the end, to stop what goes on.
    case finishImmediately
    /// It finishes when its body returned or called `finish()`.
    case whenFinishIsCalled
  }

  /// How many of the conditions are evaluated.
  public enum ConditionPolicy: Sendable {
    /// All at once, after the helpers of all of them; every failure is reported.
    case evaluateAll
    /// One after the other, in the order of attaching, up to the first that doesn't hold.
    ///
    /// A condition's helper is made and runs when the turn of that condition comes. Behind the
    /// first that doesn't hold, no condition is evaluated and no helper is made.
    case stopAtFirstFailure
  }
}
