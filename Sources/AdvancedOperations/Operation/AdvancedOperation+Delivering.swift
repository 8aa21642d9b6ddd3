import CoreOperations

extension AdvancedOperation {
  /// Tells what is in the line, unless somebody is at it.
  ///
  /// - Parameter launchesHere: Whether the caller will run the body when that is due; otherwise it
  ///   goes to the executor.
  /// - Returns: Whether the caller has to run the body now.
  @discardableResult
  final func deliver(launchesHere: Bool = false) -> Bool {
    let outer = Self.threadDelivering.value
    guard core.withLock({ $0.line.beginDelivery(inside: outer) }) else { return false }
    Self.threadDelivering.value = self
    defer { Self.threadDelivering.value = outer }
    var mustLaunch = false
    while true {
      let (item, observers) = core.withLock { core in (core.line.nextItem(), core.observers) }
      guard let item else { return mustLaunch }
      if case .launch = item {
        if launch(here: launchesHere) { mustLaunch = true }
      } else {
        perform(item, observers)
      }
    }
  }

  /// Did-start was told: looks again whether to execute.
  private func launch(here: Bool) -> Bool {
    if !here { holdQuiet() }
    let action = change { core in
      let action = core.machine.launchDue()
      if action == .finish { core.appendEnd() }
      if action == .execute && !here { core.holdsQuiet = true }
      return action
    }
    switch action {
    case .execute:
      if here { return true }
      // Somebody else told of the start, on a thread that is not to run bodies.
      if !runInQueue({ self.runBody() }) { environment.enqueue { self.runBody() } }
    case .finish, .none: if !here { releaseQuiet() }
    }
    return false
  }

  private func perform(_ item: EventLine.Item, _ observers: [ObserverEntry]) {
    switch item {
    case .enqueued: tell(observers) { $0.operationDidEnqueue(self) }
    case .started: tell(observers) { $0.operationDidStart(self) }
    case .launch: return
    case .produced(let operation): tell(observers) { $0.operation(self, didProduce: operation) }
    case .progress(let update): tell(observers) { $0.operation(self, didUpdateProgress: update) }
    case .cancelled(let errors, let callsHook):
      tell(observers) { $0.operationDidCancel(self, errors: errors) }
      if callsHook { cancelled(withErrors: errors) }
    case .willFinish(let errors, let outcome):
      finished(withErrors: errors)
      tell(observers) { $0.operationWillFinish(self, errors: errors) }
      core.withLock { core in
        core.machine.willFinishDelivered()
        core.line.append(.didFinish(errors, outcome))
      }
    case .didFinish(let errors, let outcome):
      outcomeDecided(outcome)
      tell(observers) { $0.operationDidFinish(self, errors: errors) }
      if let queue = queue as? AdvancedOperationQueue {
        queue.delegate?.operationQueue(queue, didFinish: self, errors: errors)
      }
      complete(told: observers.last?.id ?? 0, errors)
    case .lateFinish(let observer, let errors): observer.operationDidFinish(self, errors: errors)
    }
  }

  /// Tells those who were attached when the event's turn came, and still are at their own.
  private func tell(_ observers: [ObserverEntry], _ body: (any OperationObserver) -> Void) {
    for (index, entry) in observers.enumerated() {
      let isAttached =
        index == 0 || core.withLock { $0.observers.contains { $0.id == entry.id } }
      if isAttached { body(entry.observer) }
    }
  }

  // MARK: Observers

  /// Attaches an observer.
  ///
  /// It is told of what happens from now on: of everything when it is attached before the operation
  /// is enqueued, of the end at once when the operation has finished. Observers of one operation are
  /// called one after the other, in the order of attaching, on whichever thread makes the event or
  /// is telling of an earlier one.
  ///
  /// - Parameter observer: Retained until the operation finished.
  /// - Returns: Removes the observer when told to; may be ignored.
  @discardableResult
  public final func addObserver(_ observer: any OperationObserver) -> OperationObservation {
    let id = core.withLock { core in
      core.lastObserver += 1
      let id = core.lastObserver
      if core.machine.state == .finished {
        core.line.append(.lateFinish(observer, core.errors))
      } else {
        core.observers.append(ObserverEntry(id: id, observer: observer))
        if let timeout = observer as? TimeoutObserver {
          core.makeExtra().timeouts.append((id, timeout))
        }
      }
      return id
    }
    deliver()
    updateTimers(entering: nil)
    return OperationObservation { [weak self] in self?.removeObserver(id) }
  }

  private func removeObserver(_ id: UInt32) {
    let (removed, timers) = core.withLock { core -> (ObserverEntry?, [OperationTimer]) in
      let timers = core.extra?.timers.filter { $0.id == id }.map(\.timer) ?? []
      core.extra?.timers.removeAll { $0.id == id }
      core.extra?.timeouts.removeAll { $0.id == id }
      guard let index = core.observers.firstIndex(where: { $0.id == id }) else {
        return (nil, timers)
      }
      return (core.observers.remove(at: index), timers)
    }
    for timer in timers { timer.cancel() }
    withExtendedLifetime(removed) {}
  }

  /// Calls a closure when the operation begins to execute.
  @discardableResult
  public final func onStart(
    _ body: @escaping @Sendable (AdvancedOperation) -> Void
  ) -> OperationObservation { addObserver(BlockObserver(didStart: body)) }

  /// Calls a closure when the operation is cancelled before its end was decided.
  @discardableResult
  public final func onCancel(
    _ body: @escaping @Sendable (AdvancedOperation, [any Error]) -> Void
  ) -> OperationObservation { addObserver(BlockObserver(didCancel: body)) }

  /// Calls a closure when the operation has ended; at once when it has already.
  @discardableResult
  public final func onFinish(
    _ body: @escaping @Sendable (AdvancedOperation, [any Error]) -> Void
  ) -> OperationObservation { addObserver(BlockObserver(didFinish: body)) }
}
