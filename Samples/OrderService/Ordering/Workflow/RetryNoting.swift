import AdvancedOperations

/// Notes the repetitions of one operation.
final class RetryNoting: OperationObserver {
  private let step: String
  private let notes: RetryNotes

  init(_ step: String, _ notes: RetryNotes) {
    self.step = step
    self.notes = notes
  }

  func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) {
    notes.note(step, after: retry.delay, because: retry.error)
  }
}
