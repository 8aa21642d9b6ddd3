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
    willRetryAsAttempt attempt: Int,
    after delay: Duration,
    because error: any Error
  ) {
    notes.note(step, after: delay, because: error)
  }
}
