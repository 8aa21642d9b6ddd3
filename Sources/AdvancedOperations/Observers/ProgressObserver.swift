import CoreOperations

/// Sums up the progress of all operations that it is attached to.
///
/// Each counts one unit, of which an unfinished one has done the fraction that it last reported with
/// ``AdvancedOperation/updateProgress(completed:total:)``.
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
    public var totalCount = 0
    /// How many have ended.
    public var finishedCount = 0
    /// From 0 to 1.
    public var fractionCompleted = 0.0
    /// The names of those that are executing, in the order of their starts.
    public var executing: [String] = []
  }

  private struct State {
    var known: Set<ObjectIdentifier> = []
    var executing: [(id: ObjectIdentifier, name: String, fraction: Double)] = []
    var finishedCount = 0

    var progress: Progress {
      let done = executing.reduce(Double(finishedCount)) { $0 + $1.fraction }
      return Progress(
        totalCount: known.count + finishedCount,
        finishedCount: finishedCount,
        fractionCompleted: known.isEmpty
          ? (finishedCount > 0 ? 1 : 0)
          : done / Double(known.count + finishedCount),
        executing: executing.map(\.name)
      )
    }
  }

  private let state = Locked(State())
  private let onChange: @Sendable (Progress) -> Void

  /// Creates an observer.
  ///
  /// - Parameter onChange: Called after every change, on the thread that made it; calls for different
  ///   operations may overlap.
  public init(onChange: @escaping @Sendable (Progress) -> Void = { _ in }) {
    self.onChange = onChange
  }

  /// How far the operations are.
  public var progress: Progress { state.withLock { $0.progress } }

  private func change(_ body: (inout State) -> Void) {
    let progress = state.withLock { state in
      body(&state)
      return state.progress
    }
    onChange(progress)
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

  /// Takes over what the operation says.
  public func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgressUpdate
  ) {
    change { state in
      let id = ObjectIdentifier(operation)
      guard let index = state.executing.firstIndex(where: { $0.id == id }) else { return }
      state.executing[index].fraction = progress.fraction
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
