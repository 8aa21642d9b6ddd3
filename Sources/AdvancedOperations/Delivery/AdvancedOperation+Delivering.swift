import CoreOperations

/// The recipients of the events of an operation, as a copy for the delivering thread.
///
/// The thread reuses the copy from event to event. A new copy for each event was an eighth of the cost of an
/// operation with an observer (callgrind).
private struct Recipients: ~Copyable {
  /// The observers, including observers that were removed after the copy.
  var observers: [OperationObservation] = []
  /// The outcome of the operation; nil until it is decided.
  var outcome: OperationOutcome?
  /// A Boolean value that indicates whether the queue may have a delegate.
  var mayHaveDelegate = false
  var isChild = false
  var hasExtra = false
  /// A Boolean value that indicates whether the operation is a result operation.
  var hasWork = false
  var lastObserver: UInt32 = 0
  /// The observers before the last update, to be released without the lock.
  var outdated: [OperationObservation] = []

  // The parameter is `inout`, because the compiler copies the whole core if it is only read, which takes 29
  // instructions.
  mutating func update(from core: inout AdvancedCore) {
    mayHaveDelegate = core.mayHaveDelegate
    isChild = core.isChild
    hasExtra = core.extra != nil
    hasWork = core.work != nil
    if outcome == nil { outcome = core.machine.outcome }
    if lastObserver == core.lastObserver { return }
    swap(&outdated, &observers)
    observers = core.observers
    lastObserver = core.lastObserver
  }
}

extension AdvancedCore {
  /// Appends the first event after the decision of the outcome.
  mutating func appendEnd() { delivery.append(machine.firstEventOfEnd) }

  fileprivate mutating func next(
    after done: EventDelivery.Done,
    isInBody: Bool = false,
    to recipients: inout Recipients
  ) -> EventDelivery.Next {
    let isUnheard = observers.isEmpty && !mayHaveDelegate && !isChild
    let audience = EventDelivery.Audience(lastObserver: lastObserver, isEmpty: isUnheard)
    let next = delivery.next(after: done, isInBody: isInBody, to: audience, of: &machine)
    recipients.update(from: &self)
    return next
  }
}

extension AdvancedOperation {
  /// Changes the core, and then notifies the environment if the state has changed.
  ///
  /// The method is inlined, as `changeAndDeliver` is. Otherwise, the optimizer retains and releases
  /// everything that the body captures, which was a tenth of the cost of an operation (callgrind).
  @inline(__always)
  final func change<Result: ~Copyable>(
    _ body: (inout AdvancedCore) -> Result
  ) -> Result {
    var entered: State?
    var isOfInterest = false
    let result = withCore { core in
      // The phase is read instead of the machine's state, because that call would copy the machine
      // (callgrind).
      let old = core.machine.phase
      let result = body(&core)
      let new = core.machine.phase
      if new != old, new.state != old.state {
        entered = new.state
        isOfInterest = core.isOfInterest(new.state)
      }
      return result
    }
    if let entered, isOfInterest || wasObserved {
      stateChanged(to: entered, isOfInterest: isOfInterest)
    }
    return result
  }

  private func stateChanged(to state: State, isOfInterest: Bool) {
    // Observers of properties are notified of the finished state by the report of the end, because they may
    // wait for the operation.
    if state != .finished { propertiesMayHaveChanged() }
    if !isOfInterest { return }
    let environment = environment
    let now = StateTimes.hasPlace(for: state) ? environment.clock.now : nil
    let hasTimers = withCore { core in
      // A cancel makes an operation ready, even if it waits for dependencies.
      let isCancelled = state == .ready && core.machine.isCancelled
      if let now, !isCancelled, core.recordsTimes { core.extra?.stateTimes.entered(state, at: now) }
      return core.hasTimers
    }
    if environment.isTraced { environment.tracer?.operation(self, entered: state) }
    if hasTimers { updateTimers(entering: state) }
  }

  /// Delivers the due events, unless another thread is delivering.
  final func deliver() { changeAndDeliver { _ in } }

  /// Changes the core, and delivers the resulting events, unless another thread is delivering.
  ///
  /// - Parameters:
  ///   - startsOperation: True if the caller starts the operation. The caller then runs the body after
  ///     observers were notified of the start. Otherwise, the executor runs the body.
  ///   - body: A closure that changes the core, under the lock.
  /// - Returns: The result of the body.
  @inline(__always)
  @discardableResult
  final func changeAndDeliver<Result>(
    startsOperation: Bool = false,
    _ body: (inout AdvancedCore) -> Result
  ) -> Result {
    var isDue = false
    let result = change { core in
      let result = body(&core)
      isDue = core.delivery.isDue && !core.delivery.isDelivering
      return result
    }
    if isDue { deliverDueEvents(startsOperation: startsOperation) }
    return result
  }

  /// Performs the steps of the delivery one after the other, each without the lock, until no step is left.
  private func deliverDueEvents(startsOperation: Bool) {
    let context = CallContext.current
    if context.isUsedUp { return environment.enqueue { self.deliver() } }
    let outer = context.notified
    context.enter()
    var recipients = Recipients()
    var done = EventDelivery.Done.began
    var isLast = false
    while !isLast {
      let isInBody = (done.mayFinish || done == .closed) && ThreadContext.isInBody(of: self)
      let next = change { core -> EventDelivery.Next in
        // The delivery doesn't begin in the step that appended the event. Observers of properties, and the
        // tracer, were notified of that step's change of state first. They may have waited for another thread
        // that delivers.
        if done == .began, !core.delivery.begin(inside: outer, startsOperation: startsOperation) {
          return .stop
        }
        return core.next(after: done, isInBody: isInBody, to: &recipients)
      }
      switch next {
      case .notify(let event):
        context.notified = .init(self)
        let notifying = ThreadContext.beginHolding(self, by: .observer)
        notify(recipients, of: event)
        ThreadContext.endHolding(notifying)
        done = event.done
      case .notifyLatecomers(let id):
        context.notified = .init(self)
        let notifying = ThreadContext.beginHolding(self, by: .observer)
        for observation in recipients.observers where observation.id > id {
          observation.notify(of: .didFinish, outcome: recipients.outcome, about: self)
        }
        ThreadContext.endHolding(notifying)
        done = .notifiedOfDidFinish
      case .sendBody:
        holdUntilIdle()
        if !runInQueue({ self.runDueBody() }) { environment.enqueue { self.runDueBody() } }
        done = .sentBody
      case .close(let isHeldUntilIdle, let isLastStep):
        close(recipients, isHeldUntilIdle: isHeldUntilIdle)
        (done, isLast) = (.closed, isLastStep)
      case .becomeIdle:
        becomeIdle(withCore { $0.takeBelongings() })
        done = .becameIdle
      case .runBody:
        context.notified = outer
        context.leave()
        return runBodyInTime()
      case .stop: isLast = true
      }
      // The next step notifies observers of properties, whose calls don't count as callbacks of the
      // operation.
      if done.mayFinish { context.notified = outer }
      recipients.outdated = []
    }
    context.notified = outer
    context.leave()
  }

  /// Performs the work of an event, and notifies the attached observers.
  private func notify(_ recipients: borrowing Recipients, of event: EventDelivery.Event) {
    let outcome = recipients.outcome
    switch event {
    case .enqueued, .started, .produced, .progress, .retrying, .cancelled, .lateFinish: break
    case .leave: childRunner?.letChildrenLeave()
    case .willFinish:
      if recipients.hasWork { outcomeTakesEffect() }
      finished(withErrors: outcome?.failure?.errors ?? [])
    case .didFinish:
      // The parent may cancel operations that wait for this end, so the parent is notified before the
      // operation finishes.
      if recipients.isChild { parent?.childRunner?.childEnds(self) }
    }
    unsafe recipients.observers.withUnsafeBufferPointer { observers in
      for index in observers.indices {
        // The array keeps the observation alive.
        let observation = unsafe Unmanaged.passUnretained(observers[index])
        unsafe observation._withUnsafeGuaranteedRef {
          $0.notify(of: event, outcome: outcome, about: self)
        }
      }
    }
    switch event {
    case .enqueued, .started, .produced, .progress, .retrying, .leave, .willFinish: break
    case .cancelled(let errors, let callsHook): if callsHook { cancelled(withErrors: errors) }
    case .didFinish:
      if recipients.mayHaveDelegate, let outcome, let queue = queue as? AdvancedOperationQueue {
        queue.delegate?.operationQueue(queue, didFinish: self, outcome: outcome)
      }
    case .lateFinish(let observer):
      if let outcome { observer.operationDidFinish(self, outcome: outcome) }
    }
  }

  /// Releases dependents and waiters, because the state is now finished.
  private func close(_ recipients: borrowing Recipients, isHeldUntilIdle: Bool) {
    for index in recipients.observers.indices { recipients.observers[index].end() }
    let watches =
      recipients.hasExtra
      ? withCore { core in core.extra.map { exchange(&$0.evaluation.watches, with: []) } } : nil
    finishAndClose(isHeldUntilIdle: isHeldUntilIdle)
    // Dependencies and prerequisites may outlive the operation, so their watches are removed.
    for watch in watches ?? [] { watch.remove() }
  }

  // MARK: Observers

  /// Attaches an observer.
  ///
  /// The observer is notified of all events from now on. To be notified of all events of the operation,
  /// attach the observer before the operation is enqueued. If the operation has already finished, the
  /// observer is notified of the end immediately. Observers of an operation are notified one after the other,
  /// in the order in which they were attached. The notification runs on the thread that causes the event, or
  /// on a thread that is still delivering an earlier event.
  ///
  /// - Parameter observer: The observer, which is retained until the operation has finished.
  /// - Returns: An observation that can remove the observer, and that you may ignore.
  @inline(__always)
  @discardableResult
  public final func addObserver(_ observer: any OperationObserver) -> OperationObservation {
    // The method is inlined in this module. Otherwise, the optimizer creates a generic function that moves
    // each observer into another box, which takes 550 instructions (callgrind). The type is compared first,
    // because a cast alone would dominate the cost of the method (callgrind).
    let timeout = type(of: observer) == TimeoutObserver.self ? observer as? TimeoutObserver : nil
    let (observation, hasNews) = withCore { core in
      core.lastObserver += 1
      let observation: OperationObservation
      if core.machine.state == .finished {
        core.delivery.append(.lateFinish(observer))
        observation = OperationObservation()
      } else {
        observation = OperationObservation(
          id: core.lastObserver,
          of: observer,
          mayHaveTimer: timeout != nil
        )
        core.attach(observation, noticesStart: observer.noticesStart)
        if let timeout {
          core.makeExtra().timeouts.append(TimeLimit(timeout: timeout, observation: observation))
          core.hasTimers = true
          // Times are recorded, because explanations of an exceeded time limit contain the duration of each
          // state.
          core.recordTimes()
        }
      }
      return (observation, !core.delivery.isEmpty)
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
}

/// The callback that a thread is in, and the depth of nested calls of operations.
///
/// Calls are nested if the end of a child ends its group, a cancel cancels children, or an observer finishes
/// the next operation. Programs determine the depth, and a stack is limited. Beyond a maximum depth, the
/// executor performs the call on another stack.
///
/// A context is only valid on the thread that has requested it, during the call that has requested it.
@safe
package struct CallContext {
  /// The maximum depth.
  ///
  /// A level takes some kilobytes of the stack in debug builds, and some stacks have only 512 KiB.
  static let limit = 24

  @safe
  private struct State: BitwiseCopyable, Sendable {
    var depth = 0
    var notified = Notified.none
  }

  private static let all = ThreadValue(State())

  private let state: UnsafeMutablePointer<State>

  /// The context of this thread.
  static var current: CallContext { CallContext() }

  private init() { unsafe state = Self.all.pointer }

  /// A Boolean value that indicates whether the next call has to be made on another stack.
  var isUsedUp: Bool { unsafe state.pointee.depth >= Self.limit }

  /// Begins a level, which ends with ``leave()``.
  func enter() { unsafe state.pointee.depth += 1 }
  func leave() { unsafe state.pointee.depth -= 1 }

  /// The operation of the innermost callback that the thread is in.
  var notified: Notified {
    get { unsafe state.pointee.notified }
    nonmutating set { unsafe state.pointee.notified = newValue }
  }

  /// The operation whose callbacks a thread calls; none outside callbacks.
  ///
  /// The delivery keeps the operation alive. The value doesn't retain it, because that would take two atomic
  /// instructions each time.
  @safe
  package struct Notified: BitwiseCopyable, @unchecked Sendable {
    // Sendable: the reference never changes, and only the delivering thread follows it.

    private let reference: Unmanaged<AdvancedOperation>?

    package static let none = unsafe Notified(reference: nil)

    private init(reference: Unmanaged<AdvancedOperation>?) { unsafe self.reference = reference }

    init(_ operation: AdvancedOperation) {
      unsafe self.init(reference: .passUnretained(operation))
    }

    var operation: AdvancedOperation? { unsafe reference?.takeUnretainedValue() }
  }
}

extension AdvancedOperation {
  /// Performs the consequences of an event of the operation, on this stack or on another stack.
  final func follow(_ body: @escaping @Sendable () -> Void) {
    let context = CallContext.current
    if context.isUsedUp { return environment.enqueue(body) }
    context.enter()
    body()
    context.leave()
  }

  /// Notifies observers of properties, if there are any, which may in turn notify others.
  final func propertiesMayHaveChanged() {
    if wasObserved { follow { self.valuesMayHaveChanged() } }
  }
}
