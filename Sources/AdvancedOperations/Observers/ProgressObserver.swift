import CoreOperations

/// An observer that adds up the progress of all operations to which it is attached.
///
/// Each operation counts as one unit. For an unfinished operation, the completed part is the largest fraction
/// that it has reported with ``AdvancedOperation/updateProgress(completed:total:)``. The fraction of an
/// operation never decreases: in a retry, the fraction stays until the new attempt exceeds it. The total
/// fraction decreases only when an operation is enqueued, because the work increases. Attach the observer to
/// a queue or to its operations, but not to both, because an operation with two attachments counts twice.
///
/// ```swift
/// let progress = ProgressObserver { progress, _ in
///   print("\(Int(progress.fractionCompleted * 100)) %")
/// }
/// for operation in workflow { operation.addObserver(progress) }
/// ```
public final class ProgressObserver: OperationObserver {
  private struct State {
    /// A Boolean value that indicates whether a thread is calling the closure; `isNew` is true if the closure
    /// has to be called again.
    var isTelling = false
    var isNew = false
    var known: Set<ObjectIdentifier> = []
    var executing: [(id: ObjectIdentifier, label: OperationLabel, fraction: Double)] = []
    var finishedCount: Int64 = 0

    var progress: OperationProgress {
      let done = executing.reduce(Double(finishedCount)) { $0 + $1.fraction }
      let total = Int64(known.count) + finishedCount
      return OperationProgress(
        completedUnitCount: finishedCount,
        totalUnitCount: total,
        fractionCompleted: total > 0 ? done / Double(total) : 0
      )
    }

    var labels: [OperationLabel] { executing.map(\.label) }
  }

  private let state = Locked(State())
  private let onChange: @Sendable (OperationProgress, [OperationLabel]) -> Void

  /// Creates an observer.
  ///
  /// - Parameter onChange: A closure that receives the progress, and the executing operations in the order of
  ///   their starts. The closure is called after a change, on the thread that made the change or on a thread
  ///   that is still calling it for an earlier change. There is one call at a time, and the last call has the
  ///   final values.
  public init(
    onChange:
      @escaping @Sendable (
        _ progress: OperationProgress, _ executing: [OperationLabel]
      ) -> Void = { _, _ in }
  ) {
    self.onChange = onChange
  }

  /// The progress of the operations.
  ///
  /// The units are operations that were enqueued or started. Finished operations are completed units. The
  /// fraction includes the completed parts of executing operations.
  public var progress: OperationProgress { state.withLock { $0.progress } }

  /// The executing operations, in the order of their starts.
  public var executing: [OperationLabel] { state.withLock { $0.labels } }

  private func change(_ body: (inout State) -> Void) {
    let isTaken = state.withLock { state in
      body(&state)
      state.isNew = true
      defer { state.isTelling = true }
      return state.isTelling
    }
    if isTaken { return }
    while let (progress, executing) = nextToTell() { onChange(progress, executing) }
  }

  private func nextToTell() -> (OperationProgress, [OperationLabel])? {
    state.withLock { state in
      state.isTelling = state.isNew
      defer { state.isNew = false }
      return state.isNew ? (state.progress, state.labels) : nil
    }
  }

  /// Counts the operation.
  public func operationDidEnqueue(_ operation: AdvancedOperation) {
    change { $0.known.insert(ObjectIdentifier(operation)) }
  }

  /// Counts the operation as executing.
  public func operationDidStart(_ operation: AdvancedOperation) {
    let label = operation.nameAndTag
    change { state in
      state.known.insert(ObjectIdentifier(operation))
      state.executing.append((ObjectIdentifier(operation), label, 0))
    }
  }

  /// Records the fraction of the operation, unless an earlier attempt has reached a larger fraction.
  public func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgress
  ) {
    change { state in
      let id = ObjectIdentifier(operation)
      guard let index = state.executing.firstIndex(where: { $0.id == id }) else { return }
      let known = state.executing[index].fraction
      state.executing[index].fraction = max(known, progress.fractionCompleted)
    }
  }

  /// Counts the operation as completed, with any outcome.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    change { state in
      let id = ObjectIdentifier(operation)
      state.known.remove(id)
      state.executing.removeAll { $0.id == id }
      state.finishedCount += 1
    }
  }
}
