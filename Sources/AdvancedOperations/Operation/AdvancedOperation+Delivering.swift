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
    guard let news = withCore({ $0.beginNews(inside: outer) }) else { return false }
    return deliver(news, inside: outer, launchesHere: launchesHere)
  }

  /// Tells of a decided end, as far as that is the caller's part.
  final func deliver(
    _ end: consuming AdvancedCore.End,
    inside outer: AdvancedOperation?
  ) {
    switch consume end {
    case .leftToOthers: return
    case .told(let news): deliver(news, inside: outer)
    case .unheard(let errors): endUnheard(errors, inside: outer)
    }
  }

  /// Calls the hooks of an end that nobody listens to; what comes meanwhile is told as always.
  private func endUnheard(_ errors: [any Error], inside outer: AdvancedOperation?) {
    Self.threadDelivering.value = self
    finished(withErrors: errors)
    var outcome: OperationOutcome?
    let end = withCore { core in
      outcome = core.machine.outcome
      return core.endAfterUnheardWillFinish()
    }
    switch consume end {
    case .told(let news): deliver(news, inside: outer)
    case .leftToOthers: Self.threadDelivering.value = outer
    case .unheard:
      if let outcome { outcomeDecided(outcome) }
      complete(told: 0, errors)
      if let news = reportOfEndReturned({ $0.nextNews() }) {
        deliver(news, inside: outer)
      } else {
        Self.threadDelivering.value = outer
      }
    }
  }

  /// All who waited for the end know of it: gives back what the operation held, if no body goes on.
  ///
  /// - Parameter next: What comes from the line, in the same step.
  /// - Returns: That.
  private func reportOfEndReturned(
    _ next: (inout AdvancedCore) -> AdvancedCore.News?
  ) -> AdvancedCore.News? {
    var held: AdvancedCore.Held?
    var isQuiet = false
    let news = withCore { core in
      isQuiet = core.machine.bodyEnded()
      if isQuiet { held = core.takeHeld() }
      return next(&core)
    }
    if isQuiet { becomeQuiet(held) }
    return news
  }

  /// Tells what was taken from the line, and what follows it.
  ///
  /// - Parameters:
  ///   - news: What the caller has taken, which is the one who tells by that.
  ///   - outer: The operation whose callbacks this thread was delivering.
  ///   - launchesHere: Whether the caller will run the body when that is due.
  /// - Returns: Whether the caller has to run the body now.
  @discardableResult
  private func deliver(
    _ news: consuming AdvancedCore.News,
    inside outer: AdvancedOperation?,
    launchesHere: Bool = false
  ) -> Bool {
    Self.threadDelivering.value = self
    defer { Self.threadDelivering.value = outer }
    var mustLaunch = false
    var next: AdvancedCore.News? = consume news
    while let news = next.take() {
      switch news.item {
      case .launch:
        if launch(here: launchesHere) { mustLaunch = true }
        next = withCore { $0.nextNews(after: news) }
      case .didFinish:
        perform(news)
        next = reportOfEndReturned { $0.nextNews(after: news) }
      case .enqueued, .started, .produced, .progress, .cancelled, .willFinish, .lateFinish:
        perform(news)
        next = withCore { $0.nextNews(after: news) }
      }
    }
    return mustLaunch
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

  private func perform(_ news: borrowing AdvancedCore.News) {
    let (observers, errors) = (news.observers, news.errors)
    switch news.item {
    case .enqueued: tell(observers) { $0.operationDidEnqueue(self) }
    case .started: tell(observers) { $0.operationDidStart(self) }
    case .launch: return
    case .produced(let operation): tell(observers) { $0.operation(self, didProduce: operation) }
    case .progress(let update): tell(observers) { $0.operation(self, didUpdateProgress: update) }
    case .cancelled(let errors, let callsHook):
      tell(observers) { $0.operationDidCancel(self, errors: errors) }
      if callsHook { cancelled(withErrors: errors) }
    case .willFinish:
      finished(withErrors: errors)
      tell(observers) { $0.operationWillFinish(self, errors: errors) }
    case .didFinish:
      if let outcome = news.outcome { outcomeDecided(outcome) }
      tell(observers) { $0.operationDidFinish(self, errors: errors) }
      if news.isForDelegate, let queue = queue as? AdvancedOperationQueue {
        queue.delegate?.operationQueue(queue, didFinish: self, errors: errors)
      }
      complete(told: observers.last?.id ?? 0, errors)
    case .lateFinish(let observer, let errors): observer.operationDidFinish(self, errors: errors)
    }
  }

  /// Tells those who were attached when the event's turn came, and still are at their own.
  private func tell(
    _ observers: [OperationObservation],
    _ body: (any OperationObserver) -> Void
  ) {
    for observation in observers {
      if let observer = observation.observer { body(observer) }
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
    // A cast without this look at its type cost more than all else here (callgrind).
    let timeout = type(of: observer) == TimeoutObserver.self ? observer as? TimeoutObserver : nil
    let (observation, hasNews) = withCore { core in
      core.lastObserver += 1
      var observation = OperationObservation(id: core.lastObserver, of: observer)
      if core.machine.state == .finished {
        core.line.append(.lateFinish(observer, core.errors))
        observation = OperationObservation()
      } else {
        core.attach(observation)
        if let timeout {
          core.makeExtra().timeouts.append(TimeLimit(timeout, of: observation))
          core.hasTimers = true
        }
      }
      return (observation, !core.line.isEmpty)
    }
    if hasNews { deliver() }
    if timeout != nil { updateTimers(entering: nil) }
    return observation
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
