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

  /// The barrier right in front of an operation that has one.
  mutating func withBarrier(
    of operation: Operation,
    _ body: (inout PendingBarrier) -> Void
  ) {
    barriers.withElement(at: barriersInFront(of: operation) - 1, body)
  }

  mutating func passBarrier() {
    guard var barrier = barriers.popFirst() else { trap("a barrier that isn't there returned") }
    activeSegment &+= 1
    activeMembers = barrier.membersBehind
    while let operation = unsafe barrier.heldBack.popFirst()?.takeUnretainedValue() {
      operation.scheduling.placement = .waiting
      offered(operation)
    }
  }
}
