/// A wait, of the operation whose code runs here, that cycles are looked for through; given back
/// when it is over.
package struct OwnWaitToken {
  let token: OwnWaits.Token

  fileprivate init(for target: WaitTarget) throws {
    token = try OwnWaits.begin(for: target)
      .mapError { OperationCycleError(path: $0.labels) }.get()
  }
}

extension OperationQueue {
  /// Begins a wait, of the operation whose code runs here, for the end of all that the queue has,
  /// and will have meanwhile.
  ///
  /// - Returns: To be given to ``endOwnWait(_:)``.
  /// - Throws: ``OperationCycleError`` when something in the queue waits for that operation.
  package final func beginOwnWait() throws -> OwnWaitToken {
    try OwnWaitToken(for: .queue(self))
  }

  package final func endOwnWait(_ wait: OwnWaitToken) { OwnWaits.end(wait.token) }
}

extension Operation {
  /// Begins a wait, of the operation whose code runs here, for the end of this one.
  ///
  /// - Returns: To be given to ``endOwnWait(_:)``.
  /// - Throws: ``OperationCycleError`` when that end waits for the waiting one.
  package final func beginOwnWait() throws -> OwnWaitToken {
    try OwnWaitToken(for: .operation(self))
  }

  package final func endOwnWait(_ wait: OwnWaitToken) { OwnWaits.end(wait.token) }
}
