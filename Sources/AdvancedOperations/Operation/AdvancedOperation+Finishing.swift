import CoreOperations

extension AdvancedOperation {
  /// Ends the operation without an error; call it when the work is done.
  ///
  /// A ``ResultOperation`` ends by itself, when its body returns: one that is to have a value, and
  /// has none yet, fails.
  ///
  /// Ignored when the end was decided before, and after a cancel that came before executing. May
  /// return before observers were notified.
  ///
  /// - Precondition: Executing, finished, or cancelled.
  public final func finish() { finish(withErrors: []) }

  /// Ends the operation with an error, or without one; see ``finish()``.
  ///
  /// ```swift
  /// override func execute() {
  ///   connection.send(message) { error in self.finish(withError: error) }
  /// }
  /// ```
  ///
  /// - Parameter error: Appended to ``errors``; nil for none. An ``OperationSkipped`` is no error:
  ///   it ends the operation as ``skip(reason:)`` does.
  public final func finish(withError error: (any Error)?) {
    finish(withErrors: error.map { [$0] } ?? [])
  }

  /// Ends the operation with errors; see ``finish()``.
  ///
  /// - Parameter errors: Appended to ``errors``, in order. An ``OperationSkipped`` among them is no
  ///   error: without others, it ends the operation as ``skip(reason:)`` does.
  public final func finish(withErrors errors: [any Error]) {
    // A cancelled one has a reason to be without a value.
    let errors = errors.isEmpty && !isCancelled ? flawOfEnd().map { [$0] } ?? [] : errors
    finish(withElements: errors.map { OperationFailure.Element(origin: .body, error: $0) })
  }

  /// Ends the operation as skipped: there was nothing to do.
  ///
  /// ```swift
  /// override func execute() {
  ///   guard cache.isOutdated else { return skip(reason: "the cache is up to date") }
  ///   refresh()
  ///   finish()
  /// }
  /// ```
  ///
  /// The ``outcome`` is ``OperationOutcome/skipped(reason:)``, as after a condition that skips: no
  /// error, operations that need the value of this one are skipped as well, and others go on. When
  /// the operation was cancelled before, it is cancelled. An async body throws ``OperationSkipped``
  /// instead. Like ``finish()``, this is ignored when the end was decided before, and may return
  /// before observers were notified.
  ///
  /// - Parameter reason: Why there was nothing to do, for people.
  /// - Precondition: Executing, finished, or cancelled.
  public final func skip(reason: String) {
    let skipped = OperationFailure.Element(
      origin: .body,
      error: OperationSkipped(reason: reason)
    )
    finish(withElements: [skipped], calling: "skip(reason:)")
  }

  // MARK: While executing

  /// Adds another operation to where this one runs: its queue, or its group.
  ///
  /// Observers are notified once it was added. What comes meanwhile, the end of this operation
  /// among it, is told after that.
  ///
  /// The produced operation has an outcome of its own. If it fails, that isn't an error of this
  /// operation, and no attempt of this one is repeated: give the produced operation a retry policy of
  /// its own. Its failure counts for what runs both, such as a group, a ``RetryOperation`` or a
  /// ``RepeatOperation``.
  ///
  /// - Parameter operation: In no queue yet.
  /// - Throws: ``OperationProduceError`` unless the operation is in a queue, and executing or
  ///   notifying observers that it will finish.
  public final func produce(_ operation: AdvancedOperation) throws {
    try add(produced: operation)
  }

  /// Notifies observers of how far the operation is; ignored unless it is executing.
  ///
  /// - Parameters:
  ///   - completed: How many units are done.
  ///   - total: How many there are in all.
  public final func updateProgress(completed: Int64, total: Int64) {
    let update = OperationProgressUpdate(completedUnitCount: completed, totalUnitCount: total)
    tellParents(says { update })
  }
}
