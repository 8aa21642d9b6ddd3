import CoreOperations

extension AdvancedOperation {
  /// Delivers the events in the line, unless another thread is delivering them.
  ///
  /// - Parameter launchesHere: Whether the caller will run the body when that is due; otherwise it
  ///   goes to the executor.
  /// - Returns: Whether the caller has to run the body now.
  @discardableResult
  final func deliver(launchesHere: Bool = false) -> Bool {
    let context = CallContext.current
    if context.isUsedUp {
      environment.enqueue { self.deliver() }
      return false
    }
    guard let telling = change({ $0.beginTelling(inside: context.delivery) }) else {
      return false
    }
    return deliver(telling, in: context, launchesHere: launchesHere)
  }

  /// Tells what was taken from the line, and what follows it.
  ///
  /// - Parameters:
  ///   - telling: What the caller has taken, which is the one who tells by that.
  ///   - context: That of this thread.
  ///   - launchesHere: Whether the caller will run the body when that is due.
  /// - Returns: Whether the caller has to run the body now.
  @discardableResult
  final func deliver(
    _ telling: consuming Telling,
    in context: CallContext,
    launchesHere: Bool = false
  ) -> Bool {
    context.enter()
    defer { context.leave() }
    let outer = context.delivery
    var telling = consume telling
    while true {
      switch telling.step {
      case .event(let item):
        context.delivery = Delivery(of: self)
        let notifying = ThreadContext.beginHolding(self, by: .observer)
        perform(item, telling)
        ThreadContext.endHolding(notifying)
      case .latecomer(let observation):
        context.delivery = Delivery(of: self)
        let notifying = ThreadContext.beginHolding(self, by: .observer)
        observation.tell(.didFinish, errors: telling.errors, of: self)
        ThreadContext.endHolding(notifying)
      case .report:
        report(exchange(&telling.end, with: Telling.End()))
        if telling.isOverWithReport { return telling.mustLaunch }
      case .none:
        context.delivery = outer
        return telling.mustLaunch
      }
      let done = telling.stepDone()
      // What comes with the change of state is none of the operation's callbacks.
      if done.isPartOfEnd { context.delivery = outer }
      proceed(&telling, done, launchesHere: launchesHere)
      if done == .started, !launchesHere { launchElsewhere() }
    }
  }

  /// Has the core decide what follows a step, and gives back what that lets go of.
  private func proceed(
    _ telling: inout Telling,
    _ done: Telling.Done,
    launchesHere: Bool
  ) {
    let teller = AdvancedCore.Teller(
      done: done,
      launchesHere: launchesHere,
      isInBody: (done.isPartOfEnd || done == .report) && ThreadContext.isInBody(of: self),
      hearsOfOutcome: done.isPartOfEnd && hearsOfOutcome
    )
    change { $0.proceed(&telling, teller) }
    guard telling.isQuiet else { return }
    telling.isQuiet = false
    becomeQuiet(telling.toGiveBack.take())
  }

  /// Runs the body elsewhere: the start was told by another thread than the one that starts the
  /// operation, and that thread runs no bodies.
  private func launchElsewhere() {
    holdQuiet()
    if !runInQueue({ self.runDueBody() }) { environment.enqueue { self.runDueBody() } }
  }

  /// Does what is due at an event, and notifies the observers that were attached when its turn
  /// came, and still are at their own.
  private func perform(_ item: EventLine.Item, _ telling: borrowing Telling) {
    let errors = telling.errors
    switch item {
    case .enqueued, .started, .produced, .progress, .retrying, .cancelled, .lateFinish: break
    case .leave: letChildrenLeave()
    case .willFinish: finished(withErrors: errors)
    case .didFinish:
      if hearsOfOutcome, let outcome = withCore({ $0.machine.outcome }) { outcomeDecided(outcome) }
      // It may cancel what waits for this end, and so has to come before that.
      if telling.isChild { parent?.childEnds(self) }
    }
    unsafe telling.observers.withUnsafeBufferPointer { observers in
      for index in observers.indices {
        // The array keeps it alive.
        let observation = unsafe Unmanaged.passUnretained(observers[index])
        unsafe observation._withUnsafeGuaranteedRef { $0.tell(item, errors: errors, of: self) }
      }
    }
    switch item {
    case .enqueued, .started, .produced, .progress, .retrying, .leave, .willFinish: break
    case .cancelled(let errors, let callsHook): if callsHook { cancelled(withErrors: errors) }
    case .didFinish:
      if telling.isForDelegate, let queue = queue as? AdvancedOperationQueue {
        queue.delegate?.operationQueue(queue, didFinish: self, errors: errors)
      }
    case .lateFinish(let observer, let errors): observer.operationDidFinish(self, errors: errors)
    }
  }

  /// The state has turned finished: notifies what waits for the end.
  private func report(_ end: consuming Telling.End) {
    for index in end.observers.indices { end.observers[index].end() }
    let extra = end.extra
    let left = extra.map { extra in
      withCore { _ in
        (exchange(&extra.afterFinished, with: []), exchange(&extra.evaluation.watches, with: []))
      }
    }
    reportFinished(holdsQuiet: end.holdsQuiet)
    guard let (after, watches) = left else { return }
    // Dependencies and helpers may live on.
    for watch in watches { watch.remove() }
    for body in after { body() }
  }

  // MARK: Observers

  /// Attaches an observer.
  ///
  /// It is told of what happens from now on: of everything when it is attached before the operation
  /// is enqueued, of the end at once when the operation has finished. Observers of one operation
  /// are called one after the other, in the order of attaching, on whichever thread makes the event
  /// or is telling of an earlier one.
  ///
  /// - Parameter observer: Retained until the operation finished.
  /// - Returns: Removes the observer when told to; may be ignored.
  @discardableResult
  public final func addObserver(_ observer: any OperationObserver) -> OperationObservation {
    // A cast without this look at its type cost more than all else here (callgrind).
    let timeout = type(of: observer) == TimeoutObserver.self ? observer as? TimeoutObserver : nil
    let (observation, hasNews) = withCore { core in
      core.lastObserver += 1
      let observation: OperationObservation
      if core.machine.state == .finished {
        core.line.append(.lateFinish(observer, core.errors))
        observation = OperationObservation()
      } else {
        observation = OperationObservation(
          id: core.lastObserver,
          of: observer,
          mayHaveTimer: timeout != nil
        )
        core.attach(observation)
        if let timeout {
          core.makeExtra().timeouts.append(TimeLimit(timeout: timeout, observation: observation))
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
