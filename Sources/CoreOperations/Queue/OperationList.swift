/// A first-in-first-out list threaded through the operations themselves.
///
/// It retains nothing: everything in it is a member of its queue, which does. An operation is in
/// one such list at a time. Links are unmanaged references: following a strong one costs two atomic
/// instructions each time, which were a fifth of the cost of an empty block.
@safe
struct OperationList {
  typealias Link = Unmanaged<Operation>

  private var head: Link?
  private var tail: Link?

  var isEmpty: Bool { unsafe head == nil }
  var first: Operation? { unsafe head?.takeUnretainedValue() }
  /// The first one, not retained.
  var firstLink: Link? { unsafe head }

  mutating func append(_ operation: Operation) {
    let link = unsafe Link.passUnretained(operation)
    unsafe operation.scheduling.next = nil
    unsafe operation.scheduling.previous = tail
    if let tail = unsafe tail {
      unsafe tail._withUnsafeGuaranteedRef { unsafe $0.scheduling.next = link }
    } else {
      unsafe head = link
    }
    unsafe tail = link
  }

  /// Takes the first one out; not retained.
  mutating func popFirst() -> Link? {
    guard let first = unsafe head else { return nil }
    unsafe first._withUnsafeGuaranteedRef { remove($0) }
    return unsafe first
  }

  mutating func remove(_ operation: Operation) {
    let next = unsafe operation.scheduling.next
    let previous = unsafe operation.scheduling.previous
    if let next = unsafe next {
      unsafe next._withUnsafeGuaranteedRef { unsafe $0.scheduling.previous = previous }
    } else {
      unsafe tail = previous
    }
    if let previous = unsafe previous {
      unsafe previous._withUnsafeGuaranteedRef { unsafe $0.scheduling.next = next }
    } else {
      unsafe head = next
    }
    unsafe operation.scheduling.next = nil
    unsafe operation.scheduling.previous = nil
  }
}

/// All operations of a queue in the order of adding; retains each.
@safe
struct MemberList {
  typealias Link = Unmanaged<Operation>

  private var head: Link?
  private var tail: Link?
  private(set) var count = 0

  mutating func append(_ operation: Operation) {
    let link = unsafe Link.passRetained(operation)
    operation.scheduling.isMember = true
    unsafe operation.scheduling.previousMember = tail
    if let tail = unsafe tail {
      unsafe tail._withUnsafeGuaranteedRef { unsafe $0.scheduling.nextMember = link }
    } else {
      unsafe head = link
    }
    unsafe tail = link
    count += 1
  }

  /// Takes a member out and gives back the list's reference to it, to be released unlocked.
  mutating func remove(_ operation: Operation) -> Link {
    let next = unsafe operation.scheduling.nextMember
    let previous = unsafe operation.scheduling.previousMember
    if let next = unsafe next {
      unsafe next._withUnsafeGuaranteedRef { unsafe $0.scheduling.previousMember = previous }
    } else {
      unsafe tail = previous
    }
    if let previous = unsafe previous {
      unsafe previous._withUnsafeGuaranteedRef { unsafe $0.scheduling.nextMember = next }
    } else {
      unsafe head = next
    }
    unsafe operation.scheduling.nextMember = nil
    unsafe operation.scheduling.previousMember = nil
    operation.scheduling.isMember = false
    count -= 1
    return unsafe Link.passUnretained(operation)
  }

  var operations: [Operation] { first(count) { _ in true } }

  /// The first few that fit, in the order of adding.
  func first(_ wanted: Int, where fits: (Operation) -> Bool) -> [Operation] {
    unsafe few(wanted, from: head, onward: { unsafe $0.scheduling.nextMember }, where: fits)
  }

  /// The last few that fit, the last one first.
  func last(_ wanted: Int, where fits: (Operation) -> Bool) -> [Operation] {
    unsafe few(wanted, from: tail, onward: { unsafe $0.scheduling.previousMember }, where: fits)
  }

  private func few(
    _ wanted: Int,
    from link: Link?,
    onward: (Operation) -> Link?,
    where fits: (Operation) -> Bool
  ) -> [Operation] {
    var operations: [Operation] = []
    operations.reserveCapacity(wanted)
    var next = unsafe link
    while operations.count < wanted, let operation = unsafe next?.takeUnretainedValue() {
      if fits(operation) { operations.append(operation) }
      unsafe next = onward(operation)
    }
    return operations
  }
}
