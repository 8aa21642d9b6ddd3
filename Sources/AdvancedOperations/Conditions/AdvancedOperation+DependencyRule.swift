extension AdvancedOperation {
  /// Adds a rule about the outcomes of the operation's dependencies, written in short.
  ///
  /// ```swift
  /// publish.addCondition(.allSucceeded)
  /// ```
  ///
  /// - Parameter rule: Retained until the operation finished.
  /// - Precondition: Not yet enqueued or started, unless cancelled; then it is recorded and never
  ///   evaluated.
  public final func addCondition(_ rule: DependencyRule) {
    addCondition(rule as any OperationCondition)
  }
}
