/// What code waits for: the end of an operation, or of all that a queue has.
enum WaitTarget {
  case operation(Operation)
  case queue(OperationQueue)

  /// What has to happen before the wait is over, as far as it is known at this moment.
  var nodes: [WaitNode] {
    switch self {
    case .operation(let operation): [.end(operation)]
    case .queue(let queue): queue.scheduler.members.map { .quiet($0) }
    }
  }

  var label: String {
    switch self {
    case .operation(let operation): operation.label
    case .queue(let queue): "queue “\(queue.label)”"
    }
  }
}

/// A wait that the code of an operation is in.
struct OwnWait {
  let id: UInt64
  let target: WaitTarget
  /// Whether the operation can't end before it: not so for that of a task that its code has made,
  /// and may cancel, or let be.
  let isBinding: Bool
}
