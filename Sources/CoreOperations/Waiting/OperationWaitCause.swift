/// Something that keeps an operation from starting, or from going on.
///
/// What ``Operation/waitCauses`` is made of, and what an operation's `debugDescription` says.
///
/// ```swift
/// for cause in upload.waitCauses {
///   print("\(upload) \(cause)")
/// }
/// // upload (waiting) waits for compress
/// // upload (waiting) is in no queue
/// ```
public enum OperationWaitCause: Sendable, CustomStringConvertible {
  /// It is in no queue, and nobody has started it.
  case notEnqueued
  /// These dependencies have not finished.
  case dependencies([Operation])
  /// Its queue is suspended.
  case suspended(OperationQueue)
  /// A barrier comes first, which runs when these operations have left; none when it is running.
  case barrier(OperationQueue, behind: [Operation])
  /// All slots of its queue are in use, by these operations.
  case limit(OperationQueue, Int, holders: [Operation])
  /// Its override of `isReady` says false, or the layer above lets it wait.
  case notReady
  /// Nothing: its queue has asked its executor for a worker.
  case worker(OperationQueue)
  /// Its own code, the body or a condition, waits for these operations.
  case ownWait([Operation])

  /// What follows the operation's name in a sentence.
  public var description: String {
    switch self {
    case .notEnqueued: "is in no queue"
    case .dependencies(let operations): "waits for \(Self.list(operations))"
    case .suspended(let queue): "waits for queue “\(queue.label)” to be resumed"
    case .barrier(let queue, let operations):
      operations.isEmpty
        ? "waits behind a barrier of queue “\(queue.label)” that is running"
        : "waits behind a barrier of queue “\(queue.label)”, which waits for "
          + Self.list(operations)
    case .limit(let queue, let limit, let holders):
      limit == 0
        ? "waits for a slot of queue “\(queue.label)”, whose limit is 0"
        : "waits for a slot of queue “\(queue.label)”, whose limit of \(limit) is used up by "
          + (holders.isEmpty ? "a barrier" : Self.list(holders))
    case .notReady: "is not ready"
    case .worker(let queue): "waits for a worker of queue “\(queue.label)”"
    case .ownWait(let operations): "has code that waits for \(Self.list(operations))"
    }
  }

  /// The names of the first few, and how many more there are.
  private static func list(_ operations: [Operation]) -> String {
    let names = operations.prefix(8).map(\.label).joined(separator: ", ")
    return names + (operations.count > 8 ? " and \(operations.count - 8) more" : "")
  }
}

extension Operation {
  /// Why the operation isn't running, or doesn't go on; empty when nothing visible keeps it.
  ///
  /// All of it as of one moment as far as its queue is concerned; other operations may have moved on
  /// when this returns. Takes no lock while anything of a program's own is called.
  ///
  /// - Complexity: O(d), d the number of dependencies; O(n), n the number of operations in the queue,
  ///   when its slots are used up or a barrier is in front.
  public final var waitCauses: [OperationWaitCause] {
    let life = life.current
    switch life.phase {
    case .finished, .ended: return []
    case .started, .executing: return ownWaits
    case .created: return openDependencies + [.notEnqueued]
    case .enqueued:
      guard let scheduler = withLinks({ $0.scheduler }) else { return [] }
      return openDependencies + ownWaits + scheduler.causes(of: self)
    }
  }

  /// What the operation's own code waits for: its body, or a condition.
  private var ownWaits: [OperationWaitCause] {
    let waited = withLinks { $0.extra?.ownWaits ?? [] }
      .flatMap { wait -> [Operation] in
        switch wait.target {
        case .operation(let operation): [operation]
        case .queue(let queue): queue.operations.filter { $0 != self }
        }
      }
    return waited.isEmpty ? [] : [.ownWait(waited)]
  }

  private var openDependencies: [OperationWaitCause] {
    if isCancelledFlag { return [] }
    let open = dependencies.filter { !$0.isFinished }
    return open.isEmpty ? [] : [.dependencies(open)]
  }
}
