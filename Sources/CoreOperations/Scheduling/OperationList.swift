/// A first-in-first-out list threaded through the operations themselves.
///
/// It retains nothing: everything in it is a member of its queue, which does. An operation is in
/// one such list at a time.
struct OperationList {
  private unowned(unsafe) var head: Operation?
  private unowned(unsafe) var tail: Operation?

  var isEmpty: Bool { unsafe head == nil }
  var first: Operation? { unsafe head }

  mutating func append(_ operation: Operation) {
    unsafe operation.scheduling.next = nil
    unsafe operation.scheduling.previous = tail
    if let tail = unsafe tail {
      unsafe tail.scheduling.next = operation
    } else {
      unsafe head = operation
    }
    unsafe tail = operation
  }

  mutating func popFirst() -> Operation? {
    guard let first = unsafe head else { return nil }
    remove(first)
    return first
  }

  mutating func remove(_ operation: Operation) {
    let next = unsafe operation.scheduling.next
    let previous = unsafe operation.scheduling.previous
    if let next {
      unsafe next.scheduling.previous = previous
    } else {
      unsafe tail = previous
    }
    if let previous {
      unsafe previous.scheduling.next = next
    } else {
      unsafe head = next
    }
    unsafe operation.scheduling.next = nil
    unsafe operation.scheduling.previous = nil
  }
}

/// All operations of a queue in the order of adding; retains each.
struct MemberList {
  private unowned(unsafe) var head: Operation?
  private unowned(unsafe) var tail: Operation?
  private(set) var count = 0

  mutating func append(_ operation: Operation) {
    _ = unsafe Unmanaged.passRetained(operation)
    operation.scheduling.isMember = true
    unsafe operation.scheduling.previousMember = tail
    if let tail = unsafe tail {
      unsafe tail.scheduling.nextMember = operation
    } else {
      unsafe head = operation
    }
    unsafe tail = operation
    count += 1
  }

  /// Takes a member out and gives back the list's reference to it, to be released unlocked.
  mutating func remove(_ operation: Operation) -> Operation {
    let next = unsafe operation.scheduling.nextMember
    let previous = unsafe operation.scheduling.previousMember
    if let next {
      unsafe next.scheduling.previousMember = previous
    } else {
      unsafe tail = previous
    }
    if let previous {
      unsafe previous.scheduling.nextMember = next
    } else {
      unsafe head = next
    }
    unsafe operation.scheduling.nextMember = nil
    unsafe operation.scheduling.previousMember = nil
    operation.scheduling.isMember = false
    count -= 1
    return unsafe Unmanaged.passUnretained(operation).takeRetainedValue()
  }

  var operations: [Operation] {
    var operations: [Operation] = []
    operations.reserveCapacity(count)
    var next = unsafe head
    while let operation = next {
      operations.append(operation)
      next = unsafe operation.scheduling.nextMember
    }
    return operations
  }
}
