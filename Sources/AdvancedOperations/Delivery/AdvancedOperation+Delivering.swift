import CoreOperations

/// What a delivering thread has in hand of an operation besides the event: a copy that is reused
/// from event to event, because a new one for each was an eighth of what an operation with an
/// observer cost (callgrind).
private struct Recipients: ~Copyable {
  /// Also observers that were removed since.
  var observers: [OperationObservation] = []
  /// Nil until it is decided.
  var outcome: OperationOutcome?
  /// Whether the queue may have a delegate, and the operation a parent.
  var mayHaveDelegate = false
  var isChild = false
  var hasExtra = false
  /// Whether it is a result operation.
  var hasWork = false
  var lastObserver: UInt32 = 0
  /// Observers that were replaced, to be released without the lock.
  var outdated: [OperationObservation] = []

  // `inout`, because the compiler copies all of the core if it is only read: 29 instructions.
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
  /// Puts the first event that follows a decided end into the list.
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
  /// Changes the core, and afterwards notifies the environment if the state has changed.
  ///
  /// Inlined, as `changeAndDeliver` is: the optimizer counts references to all that the body
  /// captures where it is passed on in a closure, a tenth of what an operation cost (callgrind).
  @inline(__always)
  final func change<Result: ~Copyable>(
    _ body: (inout AdvancedCore) -> Result
  ) -> Result {
    var entered: State?
    var isOfInterest = false
    let result = withCore { core in
      // Not the machine's state: the call would copy the machine (callgrind).
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
    // The report of the end covers finished: an observer of properties may wait for the operation.
    if state != .finished { propertiesMayHaveChanged() }
    if !isOfInterest { return }
    let environment = environment
    let now = StateTimes.hasPlace(for: state) ? environment.clock.now : nil
    let hasTimers = withCore { core in
      // A cancel makes an operation ready, whatever it waits for.
      let isCancelled = state == .ready && core.machine.isCancelled
      if let now, !isCancelled, core.recordsTimes { core.extra?.stateTimes.entered(state, at: now) }
      return core.hasTimers
    }
    if environment.isTraced { environment.tracer?.operation(self, entered: state) }
    if hasTimers { updateTimers(entering: state) }
  }

  /// Delivers the events that are due, unless another thread is delivering them.
  final func deliver() { changeAndDeliver { _ in } }

  /// Changes the core, and delivers the events that come of it, unless another thread delivers.
  ///
  /// - Parameters:
  ///   - startsOperation: Whether the caller starts the operation, so that it runs the body once
  ///     observers were notified of the start. Otherwise that goes to the executor.
  ///   - body: Changes the core, under the lock.
  /// - Returns: What the body returned.
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

  /// Takes one step of the delivery after the other, each without the lock, until none is left.
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
        // Not in the step that has appended the event: observers of properties, and the tracer, were
        // notified of that step's change of state first, and may have waited for another thread that
        // delivers.
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
      // Observers of properties, who are notified of what the next step changes, aren't called by a
      // callback of the operation.
      if done.mayFinish { context.notified = outer }
      recipients.outdated = []
    }
    context.notified = outer
    context.leave()
  }

  /// Does what is due at an event, and notifies the observers that are attached.
  private func notify(_ recipients: borrowing Recipients, of event: EventDelivery.Event) {
    let outcome = recipients.outcome
    switch event {
    case .enqueued, .started, .produced, .progress, .retrying, .cancelled, .lateFinish: break
    case .leave: childRunner?.letChildrenLeave()
    case .willFinish:
      if recipients.hasWork { outcomeTakesEffect() }
      finished(withErrors: outcome?.failure?.errors ?? [])
    case .didFinish:
      // It may cancel operations that wait for this end, and so has to come before that.
      if recipients.isChild { parent?.childRunner?.childEnds(self) }
    }
    unsafe recipients.observers.withUnsafeBufferPointer { observers in
      for index in observers.indices {
        // The array keeps it alive.
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

  /// The state has turned finished: releases dependents and waiters.
  private func close(_ recipients: borrowing Recipients, isHeldUntilIdle: Bool) {
    for index in recipients.observers.indices { recipients.observers[index].end() }
    let watches =
      recipients.hasExtra
      ? withCore { core in core.extra.map { exchange(&$0.evaluation.watches, with: []) } } : nil
    finishAndClose(isHeldUntilIdle: isHeldUntilIdle)
    // Dependencies and prerequisites may live on.
    for watch in watches ?? [] { watch.remove() }
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
  @inline(__always)
  @discardableResult
  public final func addObserver(_ observer: any OperationObserver) -> OperationObservation {
    // Inlined in this module, because the optimizer makes a generic function of it otherwise, which
    // moves each observer into another box: 550 instructions (callgrind).
    // A cast without this look at its type cost more than all else here (callgrind).
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
          // A time limit comes with a wish to know why it was exceeded: explanations say for how
          // long.
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

/// The callbacks that a thread is in, and the depth of calls that follow from each other: a child's
/// end that ends its group, a cancel that cancels children, an observer that finishes the next
/// operation.
///
/// Programs decide how deep that gets, and a stack has an end. Beyond a bound, the executor takes
/// over, on another stack.
///
/// For the thread that has asked for it, while the call that asked goes on.
@safe
package struct CallContext {
  /// A level takes some kilobytes of the stack in debug builds, and there are stacks of 512 KiB.
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

  /// Whether the next call has to be made on another stack.
  var isUsedUp: Bool { unsafe state.pointee.depth >= Self.limit }

  /// Counts as one level until ``leave()``.
  func enter() { unsafe state.pointee.depth += 1 }
  func leave() { unsafe state.pointee.depth -= 1 }

  /// The operation whose callback the thread is in, the innermost one.
  var notified: Notified {
    get { unsafe state.pointee.notified }
    nonmutating set { unsafe state.pointee.notified = newValue }
  }

  /// The operation whose callbacks a thread calls; none outside of callbacks.
  ///
  /// Kept alive by the delivery, and not counted by this: each count would be two atomic
  /// instructions.
  @safe
  package struct Notified: BitwiseCopyable, @unchecked Sendable {
    // Sendable: the reference never changes, and is followed by the delivering thread alone.

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
  /// Does what follows from something that has happened to the operation, here or on another stack.
  final func follow(_ body: @escaping @Sendable () -> Void) {
    let context = CallContext.current
    if context.isUsedUp { return environment.enqueue(body) }
    context.enter()
    body()
    context.leave()
  }

  /// Notifies observers of properties, if there are any, who may call what notifies others.
  final func propertiesMayHaveChanged() {
    if wasObserved { follow { self.valuesMayHaveChanged() } }
  }
}
