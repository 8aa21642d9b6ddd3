import CoreOperations

/// Sums up the progress of all operations that it is attached to.
///
/// Each counts one unit, of which an unfinished one has done the largest fraction that it has
/// reported with ``AdvancedOperation/updateProgress(completed:total:)``. The fraction of an operation
/// never falls: when the operation is retried, it stays until the new attempt has passed it. The
/// fraction of all falls only when an operation is enqueued, because there is more to do then.
/// Attach it to a queue or to its operations, and not to both: an operation that it is attached to
/// twice counts twice.
///
/// ```swift
/// let progress = ProgressObserver { progress, _ in
///   print("\(Int(progress.fractionCompleted * 100)) %")
/// }
/// for operation in workflow { operation.addObserver(progress) }
/// ```
public final class ProgressObserver: OperationObserver {
  private struct State {
    /// Whether a thread is telling, and whether there is something new to tell.
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
  /// - Parameter onChange: Called after a change on the thread that made it, or on one that is
  ///   calling it for an earlier change; one call at a time, the last one with what is true then.
  ///   Gets the progress, and the operations that are executing, in the order of their starts.
  public init(
    onChange:
      @escaping @Sendable (
        _ progress: OperationProgress, _ executing: [OperationLabel]
      ) -> Void = { _, _ in }
  ) {
    self.onChange = onChange
  }

  /// How far the operations are.
  ///
  /// The units are operations that were enqueued or started; those that have ended are completed.
  /// The fraction includes the parts of those that are executing.
  public var progress: OperationProgress { state.withLock { $0.progress } }

  /// The operations that are executing, in the order of their starts.
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

  /// Takes over how far the operation is, unless it was further in an earlier attempt.
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

  /// Counts the operation as done, however it ended.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    change { state in
      let id = ObjectIdentifier(operation)
      state.known.remove(id)
      state.executing.removeAll { $0.id == id }
      state.finishedCount += 1
    }
  }
}
