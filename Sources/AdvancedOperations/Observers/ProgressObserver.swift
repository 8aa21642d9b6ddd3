import CoreOperations

/// Sums up the progress of all operations that it is attached to.
///
/// Each counts one unit, of which an unfinished one has done the largest fraction that it has
/// reported with ``AdvancedOperation/updateProgress(completed:total:)``. The fraction of an operation
/// never falls: when the operation is retried, it stays until the new attempt has passed it. The
/// fraction of all falls only when an operation is enqueued, because there is more to do then.
/// Attach it to a queue or to its
/// operations, and not to both: an operation that it is attached to twice counts twice.
///
/// ```swift
/// let progress = ProgressObserver { progress in
///   print("\(Int(progress.fractionCompleted * 100)) %")
/// }
/// for operation in workflow { operation.addObserver(progress) }
/// ```
public final class ProgressObserver: OperationObserver {
  /// How far a set of operations is.
  public struct Progress: Sendable, Hashable {
    /// How many operations were enqueued or started.
    public var totalUnitCount: Int64 = 0
    /// How many operations have ended.
    public var completedUnitCount: Int64 = 0
    /// How much is done, from 0 to 1, with the parts of the operations that are executing.
    public var fractionCompleted = 0.0
    /// The names of the operations that are executing, in the order of their starts.
    public var executing: [String] = []

    /// Creates a progress of nothing.
    public init() {}
  }

  private struct State {
    /// Whether a thread is telling, and whether there is something new to tell.
    var isTelling = false
    var isNew = false
    var known: Set<ObjectIdentifier> = []
    var executing: [(id: ObjectIdentifier, name: String, fraction: Double)] = []
    var finishedCount: Int64 = 0

    var progress: Progress {
      let done = executing.reduce(Double(finishedCount)) { $0 + $1.fraction }
      var progress = Progress()
      progress.totalUnitCount = Int64(known.count) + finishedCount
      progress.completedUnitCount = finishedCount
      if progress.totalUnitCount > 0 {
        progress.fractionCompleted = done / Double(progress.totalUnitCount)
      }
      progress.executing = executing.map(\.name)
      return progress
    }
  }

  private let state = Locked(State())
  private let onChange: @Sendable (Progress) -> Void

  /// Creates an observer.
  ///
  /// - Parameter onChange: Called after a change on the thread that made it, or on one that is
  ///   calling it for an earlier change; one call at a time, the last one with what is true then.
  public init(onChange: @escaping @Sendable (Progress) -> Void = { _ in }) {
    self.onChange = onChange
  }

  /// How far the operations are.
  public var progress: Progress { state.withLock { $0.progress } }

  private func change(_ body: (inout State) -> Void) {
    let isTaken = state.withLock { state in
      body(&state)
      state.isNew = true
      defer { state.isTelling = true }
      return state.isTelling
    }
    if isTaken { return }
    while let progress = nextToTell() { onChange(progress) }
  }

  private func nextToTell() -> Progress? {
    state.withLock { state in
      state.isTelling = state.isNew
      defer { state.isNew = false }
      return state.isNew ? state.progress : nil
    }
  }

  /// Counts the operation.
  public func operationDidEnqueue(_ operation: AdvancedOperation) {
    change { $0.known.insert(ObjectIdentifier(operation)) }
  }

  /// Counts the operation as executing.
  public func operationDidStart(_ operation: AdvancedOperation) {
    let name = operation.label
    change { state in
      state.known.insert(ObjectIdentifier(operation))
      state.executing.append((ObjectIdentifier(operation), name, 0))
    }
  }

  /// Takes over how far the operation is, unless it was further in an earlier attempt.
  public func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgressUpdate
  ) {
    change { state in
      let id = ObjectIdentifier(operation)
      guard let index = state.executing.firstIndex(where: { $0.id == id }) else { return }
      let known = state.executing[index].fraction
      state.executing[index].fraction = max(known, progress.fractionCompleted)
    }
  }

  /// Counts the operation as done, however it ended.
  public func operationDidFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    change { state in
      let id = ObjectIdentifier(operation)
      state.known.remove(id)
      state.executing.removeAll { $0.id == id }
      state.finishedCount += 1
    }
  }
}
