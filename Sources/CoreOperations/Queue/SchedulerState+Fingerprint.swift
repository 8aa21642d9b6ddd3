/// What tells two states of a queue apart, for explorations that need not go on from equal ones.
extension SchedulerState {
  func fingerprint(_ number: (Operation) -> UInt64) -> [UInt64] {
    var numbers: [UInt64] = [
      isSuspended ? 1 : 0, UInt64(bitPattern: Int64(requestedLimit)), UInt64(slotsInUse),
      UInt64(servedWithoutSlot), UInt64(barriers.count), UInt64(activeMembers),
      isBarrierRunning ? 1 : 0, UInt64(loopingWorkers), isWorkerRequested ? 1 : 0,
      UInt64(blockedStarts),
    ]
    // In the order of adding, in which operations of one priority start.
    for operation in members.operations {
      let fields = Member(operation).fields
      numbers.append(number(operation))
      numbers.append(UInt64(operation.life.current.rawValue))
      numbers.append(UInt64(operation.readiness.current.rawValue))
      let flags = [
        fields.holdsSlot, fields.isHeldUntilIdle, fields.isOnStack,
        fields.hasCompletion, fields.isNudged, fields.leavesAhead,
        fields.needsNoSlot, fields.isPaused, fields.pausesOnReturn, fields.isPauseOver,
      ]
      let bits = flags.reduce(UInt64(0)) { $0 << 1 | ($1 ? 1 : 0) }
      numbers.append(bits << 16 | UInt64(fields.level) << 8 | UInt64(fields.placement.rawValue))
    }
    numbers.append(.max)
    numbers += service.few().map { number($0.operation) }
    return numbers
  }
}
