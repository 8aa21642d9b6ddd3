extension Operation {
  // MARK: What the operation knows

  /// The dependencies that have not finished.
  ///
  /// - Parameter limit: How many dependencies are looked at, the latest.
  /// - Returns: One wait, or none.
  private func waitsForDependencies(atMost limit: Int = .max) -> [Wait] {
    // Those that were added after the start are only recorded.
    if life.current.phase > .enqueued { return [] }
    let open = withDependencyList { $0.latest(limit) }.filter { $0.life.current.phase != .finished }
    return open.isEmpty ? [] : [Wait(.dependencies, of: open, until: .ends(open))]
  }

  /// What the code that runs on the operation's behalf waits for.
  final func waitsOfCode() -> [Wait] {
    let waits = withLinks { $0.extra?.ownWaits ?? [] }
    if waits.isEmpty { return [] }
    var operations: [Operation] = []
    var needs: [WaitNeed] = []
    for wait in waits {
      let awaited: [WaitNode]
      switch wait.target {
      case .operation(let operation):
        awaited = [.end(operation)]
        operations.append(operation)
      case .queue(let queue):
        let members = queue.abstractScheduler.members
        awaited = members.map { .quiet($0) }
        operations += members.filter { $0 !== self }
      }
      if wait.isBinding { needs += awaited.map { WaitNeed($0, stamp: wait.id) } }
    }
    if waits.count > 1 {
      // Several pieces of its code may wait for the same operation.
      var seen: Set<ObjectIdentifier> = []
      operations.removeAll { !seen.insert(ObjectIdentifier($0)).inserted }
    }
    return [Wait(.code, of: operations, until: .needs(needs), isCurrent: !operations.isEmpty)]
  }

  // MARK: What its queue knows

  /// What its queue lets it wait for.
  ///
  /// - Parameter isLaterIncluded: Whether that includes what keeps it only once others are over.
  /// - Returns: The waits.
  final func waitsInQueue(isLaterIncluded: Bool = true) -> [Wait] {
    withLinks { $0.scheduler }?.waits(of: self, isLaterIncluded: isLaterIncluded) ?? []
  }

  // MARK: All together

  /// What the program connects the operation with, and what it therefore waits for before its
  /// start.
  ///
  /// - Parameter limit: How many of its dependencies are looked at.
  /// - Returns: The waits.
  final func waitsForConnections(atMost limit: Int = .max) -> [Wait] {
    if isCancelledFlag { return waitsToLeave }
    let waits = waitsForDependencies(atMost: limit)
    guard let layer else { return waits }
    return waits + layer.layerWaits(.connections)
  }

  /// What an operation waits for that won't execute.
  private var waitsToLeave: [Wait] {
    parentToLeave.map { [Wait(.parent, of: [$0], until: .starts([$0]))] } ?? []
  }

  /// What has to come before the operation can start; without the slots and barriers of its queue,
  /// if these aren't wanted.
  final func waitsBeforeStart(includingQueue: Bool = true) -> [Wait] {
    if isCancelledFlag || readiness.current.isDropped { return waitsToLeave }
    var waits = waitsForDependencies()
    if includingQueue { waits += waitsInQueue() }
    if let layer {
      waits += layer.layerWaits(.connections) + layer.layerWaits(.turn)
    }
    return waits
  }

  /// What the operation's next turn after a pause needs; nothing if it waits for none, or was
  /// cancelled and ends without it.
  final func waitsBeforeTurn() -> [Wait] {
    guard let layer, !isCancelledFlag else { return [] }
    return waitsInQueue() + layer.layerWaits(.turn)
  }

  /// What has to come before the operation can end.
  final func waitsBeforeEnd() -> [Wait] {
    let hasBegun = hasBegun
    var waits = waitsOfCode()
    if hasBegun { waits += waitsBeforeTurn() }
    if let layer { waits += layer.layerWaits(.execution) }
    if !hasBegun { waits += waitsBeforeStart() }
    return waits
  }

  // MARK: For people

  /// What keeps the operation at this moment, as far as the core knows; empty when that is nothing.
  ///
  /// What has finished is decided by `isFinished` here, which a subclass may override.
  ///
  /// - Complexity: O(d), d the number of dependencies; O(n), n the number of operations in the
  ///   queue, when its slots are used up or a barrier is in front.
  final func waitsForPeople() -> [Wait] {
    switch life.current.phase {
    case .finished, .ended: []
    case .started, .executing:
      (waitsOfCode() + (isLayered ? waitsInQueue(isLaterIncluded: false) : []))
        .filter(\.isCurrent)
    case .created: waitsForUnfinished() + [Wait(.enqueueing)]
    case .enqueued:
      withLinks { $0.scheduler }.map { scheduler in
        (waitsForUnfinished() + waitsOfCode() + scheduler.waits(of: self, isLaterIncluded: false))
          .filter(\.isCurrent)
      } ?? []
    }
  }

  private func waitsForUnfinished() -> [Wait] {
    if isCancelledFlag { return [] }
    return waitsForDependencies().compactMap { wait in
      var open = wait.operations.filter { !$0.isFinished }
      if open.isEmpty, !readiness.current.dependenciesAreFinished {
        // Their ends were not reported.
        open = wait.operations.filter(\.hasUnreportedEnd)
      }
      return open.isEmpty ? nil : Wait(wait.kind, of: open, until: .ends(open))
    }
  }
}
