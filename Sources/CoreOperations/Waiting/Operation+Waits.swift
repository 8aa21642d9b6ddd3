extension Operation {
  // MARK: Waits that the operation knows

  /// Returns the wait for the dependencies that haven't finished.
  ///
  /// - Parameter limit: The maximum number of dependencies that are checked, beginning with the latest.
  /// - Returns: The waits; empty if the operation waits for no dependency.
  private func waitsForDependencies(atMost limit: Int = .max) -> [Wait] {
    // Dependencies that were added after the start are only recorded.
    if life.current.phase > .enqueued { return [] }
    let all = withDependencyList { $0.latest(limit) }
    let open = all.filter { $0.life.current.phase != .finished }
    var waits = open.isEmpty ? [] : [Wait(.dependencies, of: open, until: .ends(open))]
    // Threads that report the ends of some dependencies are themselves waiting.
    let held = all.filter { $0.life.current.phase == .finished && $0.hasOwnWaits }
    if !held.isEmpty, withLinks({ $0.scheduler })?.awaitsOffer(self) == true {
      waits.append(Wait(.dependencies, of: held, until: .leaves(held)))
    }
    return waits
  }

  /// Whether code waits that has to return before the operation can continue.
  final var hasOwnWaits: Bool { withLinks { $0.extra?.ownWaits.isEmpty == false } }

  /// Returns the waits of the code that runs on behalf of the operation.
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
      // Several parts of its code may wait for the same operation.
      var seen: Set<ObjectIdentifier> = []
      operations.removeAll { !seen.insert(ObjectIdentifier($0)).inserted }
    }
    return [Wait(.code, of: operations, until: .needs(needs), isCurrent: !operations.isEmpty)]
  }

  // MARK: Waits that the queue knows

  /// Returns the waits that the queue causes.
  ///
  /// - Parameter isLaterIncluded: Whether the result includes waits that begin only once other waits have
  ///   ended.
  /// - Returns: The waits.
  final func waitsInQueue(isLaterIncluded: Bool = true) -> [Wait] {
    guard let scheduler = withLinks({ $0.scheduler }) else { return [] }
    let waits = scheduler.waits(of: self, isLaterIncluded: isLaterIncluded)
    guard let wait = waitForMainThread else { return waits }
    // While the main thread is blocked, no worker of the queue can run.
    let others = waits.filter { !$0.isForWorker }
    return others.count < waits.count || isLaterIncluded ? others + [wait] : waits
  }

  /// Whether the operation waits for something that its queue knows.
  final func waitsInQueue(for isWanted: (Wait) -> Bool) -> Bool {
    waitsInQueue().contains(where: isWanted)
  }

  /// The wait for the main thread, if the thread is blocked and the operation is to run there.
  private var waitForMainThread: Wait? {
    guard MainThreadWaits.isAny, let scheduler = withLinks({ $0.scheduler }),
      scheduler.runsOnMainThread,
      !hasBegun || scheduler.isPaused(self)
    else { return nil }
    return MainThreadWaits.wait
  }

  // MARK: All waits

  /// Returns the waits before the start that result from connections, which the program has made.
  ///
  /// - Parameter limit: The maximum number of its dependencies that are checked.
  /// - Returns: The waits.
  final func waitsForConnections(atMost limit: Int = .max) -> [Wait] {
    if isCancelledFlag { return waitsToLeave }
    let waits = waitsForDependencies(atMost: limit)
    guard let layer else { return waits }
    return waits + layer.layerWaits(.connections)
  }

  /// The waits of an operation that won't execute.
  private var waitsToLeave: [Wait] {
    let parent = parentToLeave.map { [Wait(.parent, of: [$0], until: .starts([$0]))] } ?? []
    return parent + (waitForMainThread.map { [$0] } ?? [])
  }

  /// Returns the waits that have to end before the operation can start.
  ///
  /// The slots and barriers of its queue are left out if `includingQueue` is false.
  final func waitsBeforeStart(includingQueue: Bool = true) -> [Wait] {
    if isCancelledFlag || readiness.current.isDropped { return waitsToLeave }
    var waits = waitsForDependencies()
    if includingQueue { waits += waitsInQueue() }
    if let layer {
      waits += layer.layerWaits(.connections) + layer.layerWaits(.turn)
    }
    return waits
  }

  /// Returns the waits that have to end before the operation can resume after a pause.
  ///
  /// The result is empty if the operation doesn't wait to resume, or if it was cancelled and ends without
  /// resuming.
  final func waitsBeforeTurn() -> [Wait] {
    if isCancelledFlag { return [] }
    return waitsInQueue() + (layer?.layerWaits(.turn) ?? [])
  }

  /// Returns the waits that have to end before the operation can end.
  final func waitsBeforeEnd() -> [Wait] {
    let hasBegun = hasBegun
    var waits = waitsOfCode()
    if hasBegun { waits += waitsBeforeTurn() }
    if let layer { waits += layer.layerWaits(.execution) }
    if !hasBegun { waits += waitsBeforeStart() }
    return waits
  }

  /// Whether another operation needs only the slot that this operation holds while its body awaits.
  final func couldReleaseSlot(for other: Operation) -> Bool {
    let awaits = withLinks { links in
      links.extra?.ownWaits.contains { $0.isBinding && !$0.blocksThread } == true
    }
    guard awaits, other.waitsInQueue(for: { $0.isForSlot && $0.operations.contains(self) }) else {
      return false
    }
    return !other.waitsBeforeStart(includingQueue: false).contains { $0.operations.contains(self) }
  }

  // MARK: Explanations

  /// The waits that keep the operation at this moment, as far as the core knows; empty if there are none.
  ///
  /// A wait that only the layer knows appears as ``Wait/Kind/readiness`` or ``Wait/Kind/enqueueing``.
  ///
  /// This property reads `isFinished`, which a subclass may override, to decide which dependencies have
  /// finished.
  ///
  /// - Complexity: O(d), d the number of dependencies. O(n), n the number of operations in the queue, if its
  ///   slots are used up or a barrier is in front.
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
        // The ends of these dependencies weren't reported.
        open = wait.operations.filter(\.hasUnreportedEnd)
      }
      return open.isEmpty ? nil : Wait(wait.kind, of: open, until: .ends(open))
    }
  }
}
