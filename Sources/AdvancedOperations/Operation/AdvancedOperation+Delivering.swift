import CoreOperations

extension AdvancedOperation {
  /// Delivers the events in the line, unless another thread is delivering them.
  ///
  /// - Parameter launchesHere: Whether the caller will run the body when that is due; otherwise it
  ///   goes to the executor.
  /// - Returns: Whether the caller has to run the body now.
  @discardableResult
  final func deliver(launchesHere: Bool = false) -> Bool {
    if CallDepth.isUsedUp {
      environment.enqueue { self.deliver() }
      return false
    }
    let outer = Delivery.current
    guard let news = withCore({ $0.beginNews(inside: outer) }) else { return false }
    return deliver(news, inside: outer, launchesHere: launchesHere)
  }

  /// Tells of a decided end, as far as that is the caller's part.
  final func deliver(
    _ end: consuming AdvancedCore.End,
    inside outer: Delivery
  ) {
    switch consume end {
    case .leftToOthers: return
    case .told(let news): deliver(news, inside: outer)
    case .unheard(let errors): endUnheard(errors, inside: outer)
    }
  }

  /// Calls the hook of an end that has no observers; events that come meanwhile are delivered as
  /// always.
  private func endUnheard(_ errors: [any Error], inside outer: Delivery) {
    // Counted only where it can be one of many, which saves the usual end two accesses.
    if outer.isGoingOn { CallDepth.enter() }
    defer { if outer.isGoingOn { CallDepth.leave() } }
    Delivery.current = Delivery(of: self)
    finished(withErrors: errors)
    // What comes with the change of state is none of its callbacks.
    Delivery.current = outer
    let (isInBody, hearsOfOutcome) = (isInBody, hearsOfOutcome)
    var leftovers = AdvancedCore.Leftovers()
    var news: AdvancedCore.News?
    change { core in
      news = core.newsAfterUnheardWillFinish(
        hearsOfOutcome: hearsOfOutcome,
        isInBody: isInBody,
        &leftovers
      )
    }
    if leftovers.isFinished {
      let isOver = leftovers.isDeliveryOver
      report(leftovers)
      if isOver { return }
      news = reportReturned(isInBody: isInBody) { $0.takeNews() }
    }
    if let news { deliver(news, inside: outer) }
  }

  /// Whether this is called from the operation's own body.
  private var isInBody: Bool { ThreadOccupant.isInBody(of: self) }

  /// All who waited for the end know of it: gives back what the operation held, if no body goes on.
  ///
  /// - Parameters:
  ///   - isInBody: Whether the report wasn't counted as a body.
  ///   - next: What comes from the line, in the same step.
  /// - Returns: That.
  private func reportReturned<News: ~Copyable>(
    isInBody: Bool,
    _ next: (inout AdvancedCore) -> News?
  ) -> News? {
    var held: AdvancedCore.Held?
    var isQuiet = false
    let news = withCore { core in
      if !isInBody { isQuiet = core.machine.bodyEnded() }
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
  final func deliver(
    _ news: consuming AdvancedCore.News,
    inside outer: Delivery,
    launchesHere: Bool = false
  ) -> Bool {
    CallDepth.enter()
    defer { CallDepth.leave() }
    Delivery.current = Delivery(of: self)
    var news = consume news
    var mustLaunch = false
    while true {
      var next: AdvancedCore.NextNews?
      switch news.item {
      case .started where launchesHere:
        perform(news)
        change { next = $0.newsAfterStart(news, isLaunched: &mustLaunch) }
      case .launch:
        if launch(here: launchesHere) { mustLaunch = true }
        next = withCore { $0.news(after: news) }
      case .leave:
        letChildrenLeave()
        next = withCore { $0.news(after: news) }
      case .didFinish:
        perform(news)
        let isInBody = isInBody
        if complete(news, isInBody: isInBody, inside: outer) { return mustLaunch }
        next = reportReturned(isInBody: isInBody) { $0.news(after: news) }
        if next != nil { Delivery.current = Delivery(of: self) }
      case .enqueued, .started, .produced, .progress, .retrying, .cancelled, .willFinish,
        .lateFinish:
        perform(news)
        next = withCore { $0.news(after: news) }
      }
      guard let next else {
        Delivery.current = outer
        return mustLaunch
      }
      news.proceed(to: next)
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
      // Another thread delivered the start, and is not to run bodies.
      if !runInQueue({ self.runBody() }) { environment.enqueue { self.runBody() } }
    case .finish, .none: if !here { releaseQuiet() }
    }
    return false
  }

  /// Notifies the observers that were attached when the event's turn came, and still are at their
  /// own.
  private func perform(_ news: borrowing AdvancedCore.News) {
    let errors = news.errors
    switch news.item {
    case .enqueued, .started, .launch, .produced, .progress, .retrying, .cancelled, .leave,
      .lateFinish:
      break
    case .willFinish: finished(withErrors: errors)
    case .didFinish:
      if hearsOfOutcome, let outcome = withCore({ $0.machine.outcome }) { outcomeDecided(outcome) }
      // It may cancel what waits for this end, and so has to come before that.
      if news.isChild { withCore { $0.extra?.group }?.childEnds(self) }
    }
    unsafe news.observers.withUnsafeBufferPointer { observers in
      for index in observers.indices {
        // The array keeps it alive.
        let observation = unsafe Unmanaged.passUnretained(observers[index])
        unsafe observation._withUnsafeGuaranteedRef { $0.tell(news, of: self) }
      }
    }
    switch news.item {
    case .enqueued, .started, .launch, .produced, .progress, .retrying, .leave, .willFinish: return
    case .cancelled(let errors, let callsHook): if callsHook { cancelled(withErrors: errors) }
    case .didFinish:
      if news.isForDelegate, let queue = queue as? AdvancedOperationQueue {
        queue.delegate?.operationQueue(queue, didFinish: self, errors: errors)
      }
    case .lateFinish(let observer, let errors): observer.operationDidFinish(self, errors: errors)
    }
  }

  /// Did-finish was delivered: the state turns finished and everything that waited goes on.
  ///
  /// - Returns: Whether nothing is left to be told. What follows is none of the operation's
  ///   callbacks.
  private func complete(
    _ news: borrowing AdvancedCore.News,
    isInBody: Bool,
    inside outer: Delivery
  ) -> Bool {
    var told = news.lastObserver
    while true {
      var latecomer: OperationObservation?
      // Let go of after unlocking: what was attached may be released here, and do whatever it
      // likes.
      var leftovers = AdvancedCore.Leftovers()
      Delivery.current = outer
      change { core in
        latecomer = core.observer(after: told)
        if latecomer == nil { core.didFinish(isInBody: isInBody, &leftovers) }
      }
      guard let latecomer else {
        let isOver = leftovers.isDeliveryOver
        report(leftovers)
        return isOver
      }
      // Those that came meanwhile are told first.
      Delivery.current = Delivery(of: self)
      latecomer.tell(news, of: self)
      told = latecomer.id
    }
  }

  /// The state has turned finished: releases what was attached, and notifies what waits for the
  /// end.
  private func report(_ leftovers: consuming AdvancedCore.Leftovers) {
    for observation in leftovers.observers { observation.remove() }
    // Before anybody who waited goes on.
    leftovers.letGoOfConditions()
    let after = leftovers.extra.map { letGo(of: $0) } ?? []
    releaseResources()
    reportFinished(holdsQuiet: leftovers.holdsQuiet)
    for body in after { body() }
  }

  /// Returns what is to be called once the end was reported.
  private func letGo(of extra: AdvancedExtra) -> [@Sendable () -> Void] {
    var helpers: [AdvancedOperation] = []
    var awaitedHelpers: [AdvancedOperation] = []
    var evaluation: Task<Void, Never>?
    let after = withCore { _ in
      swap(&helpers, &extra.helpers)
      swap(&awaitedHelpers, &extra.awaitedHelpers)
      swap(&evaluation, &extra.evaluation)
      return exchange(&extra.afterFinished, with: [])
    }
    withExtendedLifetime((helpers, awaitedHelpers, evaluation)) {}
    return after
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
