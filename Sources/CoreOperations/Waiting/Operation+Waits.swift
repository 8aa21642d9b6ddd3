extension Operation {
  // MARK: What the operation knows

  /// The dependencies that have not finished.
  ///
  /// - Parameter limit: How many dependencies are looked at, the latest.
  /// - Returns: One wait, or none.
  private func waitsForDependencies(atMost limit: Int = .max) -> [Wait] {
    // Those that were added after the start are only recorded.
    if life.current.phase > .enqueued { return [] }
    let all = withDependencyList { $0.latest(limit) }
    let open = all.filter { $0.life.current.phase != .finished }
    var waits = open.isEmpty ? [] : [Wait(.dependencies, of: open, until: .ends(open))]
    // The ends of some are being reported, by threads that wait meanwhile.
    let held = all.filter { $0.life.current.phase == .finished && $0.hasOwnWaits }
    if !held.isEmpty, withLinks({ $0.scheduler })?.awaitsOffer(self) == true {
      waits.append(Wait(.dependencies, of: held, until: .leaves(held)))
    }
    return waits
  }

  /// Whether code waits for which the operation has to wait.
  final var hasOwnWaits: Bool { withLinks { $0.extra?.ownWaits.isEmpty == false } }

  /// What the code that runs on the operation's behalf waits for.
  final func waitsOfCode() -> [Wait] {
    let waits = withLinks { $0.extra?.ownWaits ?? [] }
    if waits.isEmpty { return [] }
    var operations: [Operation] = []
    var needs: [WaitNeed] = []
    for wait in waits {
      let awaited = wait.target.nodes
      operations += awaited.map(\.operation).filter { $0 !== self }
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
    guard let scheduler = withLinks({ $0.scheduler }) else { return [] }
    let waits = scheduler.waits(of: self, isLaterIncluded: isLaterIncluded)
    guard let wait = waitForMainThread else { return waits }
    // Its worker can't come.
    let others = waits.filter { !$0.isForWorker }
    return others.count < waits.count || isLaterIncluded ? others + [wait] : waits
  }

  /// Whether it waits for something that its queue knows.
  final func waitsInQueue(for isWanted: (Wait) -> Bool) -> Bool {
    waitsInQueue().contains(where: isWanted)
  }

  /// The wait for what the main thread waits for, if the operation is to run there.
  private var waitForMainThread: Wait? {
    guard MainThreadWaits.isAny, let scheduler = withLinks({ $0.scheduler }),
      scheduler.runsOnMainThread,
      !hasBegun || scheduler.isPaused(self)
    else { return nil }
    return MainThreadWaits.wait
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
    let parent = parentToLeave.map { [Wait(.parent, of: [$0], until: .starts([$0]))] } ?? []
    return parent + (waitForMainThread.map { [$0] } ?? [])
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
    if isCancelledFlag { return [] }
    return waitsInQueue() + (layer?.layerWaits(.turn) ?? [])
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

  /// Whether another operation needs nothing of this one but the slot that this one holds while its
  /// body awaits.
  final func couldReleaseSlot(for other: Operation) -> Bool {
    let awaits = withLinks { links in
      links.extra?.ownWaits.contains { $0.isBinding && !$0.blocksThread } == true
    }
    guard awaits, other.waitsInQueue(for: { $0.isForSlot && $0.operations.contains(self) }) else {
      return false
    }
    return !other.waitsBeforeStart(includingQueue: false).contains { $0.operations.contains(self) }
  }

  // MARK: For people

  /// What keeps the operation at this moment, as far as the core knows; empty when that is nothing.
  ///
  /// What its layer knows is behind ``Wait/Kind/readiness`` and ``Wait/Kind/enqueueing``.
  ///
  /// What has finished is decided by `isFinished` here, which a subclass may override.
  ///
  /// - Complexity: O(d), d the number of dependencies; O(n), n the number of operations in the
  ///   queue, when its slots are used up or a barrier is in front.
  package final var currentWaits: [Wait] {
    switch life.current.phase {
    case .finished, .ended: []
    case .started, .executing:
      (waitsOfCode() + waitsInQueue(isLaterIncluded: false)).filter(\.isCurrent)
    case .created: waitsForUnfinished() + [Wait(.enqueueing)]
    case .enqueued:
      withLinks { $0.scheduler }.map { _ in
        (waitsForUnfinished() + waitsOfCode() + waitsInQueue(isLaterIncluded: false))
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
