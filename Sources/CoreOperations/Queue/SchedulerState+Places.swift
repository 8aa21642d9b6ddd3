/// Which line an operation goes to.
extension SchedulerState {
  mutating func place(_ operation: Operation) {
    if operation.scheduling.isAhead {
      operation.scheduling.placement = .service
      service.append(operation)
    } else if operation.scheduling.needsReview {
      placeInService(operation)
    } else if barriersInFront(of: operation) > 0 {
      holdBack(operation)
    } else {
      operation.scheduling.placement = .ready
      ready.insert(operation)
      if operation.scheduling.isAskedAfterWait { noteWaitInLine() }
    }
  }

  mutating func placeInService(_ operation: Operation) {
    if barriersInFront(of: operation) > 0 {
      holdBack(operation)
    } else {
      operation.scheduling.placement = .service
      service.append(operation)
    }
  }

  mutating func holdBack(_ operation: Operation) {
    operation.scheduling.placement = .heldBack
    withBarrier(of: operation) { $0.heldBack.append(operation) }
  }

  /// How many barriers have to run before an operation that isn't gone may start.
  func barriersInFront(of operation: Operation) -> Int {
    max(0, Int(Int32(bitPattern: operation.scheduling.segment &- activeSegment)))
  }

  /// The members that are behind all barriers; in no order.
  var membersOfLastSegment: [Operation] {
    let segment = activeSegment &+ UInt32(barriers.count)
    let count = barriers.last?.membersBehind ?? activeMembers
    return members.last(count) {
      $0.scheduling.placement != .gone && $0.scheduling.segment == segment
    }
  }

  /// Whether a barrier has not run, and a member waits for it; its segment is that of the members right
  /// behind it.
  func hasMembers(behindBarrierOf segment: UInt32) -> Bool {
    let first = Int(Int32(bitPattern: segment &- activeSegment)) - 1
    return first >= 0
      && (first..<barriers.count).contains { barriers[$0].membersBehind > 0 }
  }

  /// The barrier right in front of an operation that has one.
  mutating func withBarrier(
    of operation: Operation,
    _ body: (inout PendingBarrier) -> Void
  ) {
    barriers.withElement(at: barriersInFront(of: operation) - 1, body)
  }

  mutating func passBarrier() {
    guard var barrier = barriers.popFirst() else { trap("a barrier that isn't there returned") }
    PendingBarriers.ended()
    activeSegment &+= 1
    activeMembers = barrier.membersBehind
    while let operation = unsafe barrier.heldBack.popFirst()?.takeUnretainedValue() {
      operation.scheduling.placement = .waiting
      offered(operation)
    }
  }
}
