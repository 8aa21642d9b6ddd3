/// The events of one operation in order, and the single thread that delivers them.
///
/// The operation's lock protects this plain value. A thread that appends an event while no thread delivers
/// becomes the delivering thread, until no event is left. Otherwise, the delivering thread also delivers the
/// new event. Callbacks of one operation therefore never overlap or nest.
///
/// The thread calls ``next(after:isInBody:to:of:)`` under the lock and performs the returned step without the
/// lock, in `AdvancedOperation.deliverDueEvents(startsOperation:)`.
package struct EventDelivery {
  /// An event to be delivered.
  ///
  /// An event has the size of one word, because each event is copied several times. Cases with larger values
  /// are boxed, and the events of every operation have no value. Without this, an operation took 12 more
  /// retains (callgrind).
  package enum Event {
    case enqueued
    /// The operation may start. The start is decided when the event is taken from the list, and the body
    /// follows.
    case started
    case produced(AdvancedOperation)
    indirect case progress(OperationProgress)
    indirect case retrying(OperationRetry)
    indirect case cancelled([any Error], callsHook: Bool)
    /// The outcome was decided before the children were started. The children leave the queue, and
    /// will-finish follows.
    case leave
    /// The outcome was decided. Did-finish follows, after the events that are appended in the meantime.
    case willFinish
    case didFinish
    /// An observer was added to a finished operation, and receives did-finish.
    indirect case lateFinish(any OperationObserver)
  }

  // The first event is stored outside the array, because mostly there is no second event. An array alone took
  // three allocations per operation (callgrind).
  private var first: Event?
  private var others: [Event] = []
  /// The index of the first remaining event in `others`.
  private var index: Int32 = 0
  /// The operation in whose callback the thread began to deliver.
  private(set) var outer = CallContext.Notified.none
  /// The number of the last observer that was attached when the last event was delivered.
  private var lastNotified: UInt32 = 0
  /// The number of sweeps over many operations that delay the events; sweeps may overlap.
  private var sweepCount: UInt16 = 0
  private var thread = DeliveringThread.none

  /// The role of the delivering thread for the body of the operation.
  private enum DeliveringThread {
    case none
    /// The thread delivers, and doesn't run the body.
    case delivers
    /// The thread starts the operation, and will run the body.
    case startsOperation
    /// The thread starts the operation, observers were notified of the start, and the body is due.
    case owesBody
  }

  package init() {}

  package var isEmpty: Bool { first == nil }
  /// A Boolean value that indicates whether an event may be delivered now.
  package var isDue: Bool { !isEmpty && sweepCount == 0 }
  /// A Boolean value that indicates whether a thread is delivering.
  package var isDelivering: Bool { thread != .none }

  // MARK: Events

  package mutating func append(_ event: Event) {
    if isEmpty { first = event } else { others.append(event) }
  }

  /// Removes the event of a produced operation that wasn't added after all; a sweep has held the events
  /// since.
  package mutating func removeProduced(_ operation: AdvancedOperation) {
    let events = ([first].compactMap { $0 } + others[Int(index)...]).filter { event in
      if case .produced(operation) = event { false } else { true }
    }
    first = events.first
    others = Array(events.dropFirst())
    index = 0
  }

  /// Records that a sweep over many operations has reached this operation; ``sweepEnded()`` follows.
  package mutating func sweepBegan() { sweepCount += 1 }

  /// Records that a sweep has reached all its operations.
  package mutating func sweepEnded() { sweepCount -= 1 }

  // The list doesn't keep an event that was taken, so that no object of the program is released under the
  // lock.
  private mutating func takeFirst() -> Event? {
    guard isDue else { return nil }
    let event = first.take()
    if Int(index) < others.count {
      first = others[Int(index)]
      others[Int(index)] = .started
      index += 1
      if Int(index) == others.count {
        others = []
        index = 0
      }
    }
    return event
  }

  // MARK: Delivering

  /// Makes the caller the thread that delivers, if an event is due and no thread delivers.
  ///
  /// - Parameters:
  ///   - outer: The operation in whose callback the thread is.
  ///   - startsOperation: True if the thread will run the body when the body is due.
  /// - Returns: True if the caller has to call ``next(after:isInBody:to:of:)`` until the method returns
  ///   `stop`.
  package mutating func begin(inside outer: CallContext.Notified, startsOperation: Bool) -> Bool {
    guard !isDelivering, isDue else { return false }
    thread = startsOperation ? .startsOperation : .delivers
    self.outer = outer
    return true
  }

  /// A step that the delivering thread has taken, as far as the next step depends on it.
  package enum Done: CaseIterable {
    case began
    /// Observers were notified of an event without a following step.
    case notified
    case notifiedOfStart, notifiedOfWillFinish, notifiedOfDidFinish
    case sentBody
    case closed
    case becameIdle

    /// A Boolean value that indicates whether the operation can finish after this step.
    var mayFinish: Bool { self == .notifiedOfWillFinish || self == .notifiedOfDidFinish }
  }

  /// The receivers of did-finish that may not be in the thread's copy of the observers.
  package struct Audience {
    /// The number of the observer that was attached last.
    package var lastObserver: UInt32
    /// A Boolean value that indicates whether did-finish has neither an observer nor another receiver.
    package var isEmpty: Bool

    package init(lastObserver: UInt32, isEmpty: Bool) {
      self.lastObserver = lastObserver
      self.isEmpty = isEmpty
    }
  }

  /// The next step of the delivering thread, which takes the step without the lock.
  package enum Next {
    /// Notify all receivers of an event.
    case notify(Event)
    /// Notify the observers with a higher number of did-finish, because they were attached during the
    /// notification.
    case notifyLatecomers(after: UInt32)
    /// Let another thread run the body, because this thread only delivers.
    case sendBody
    /// Release dependents and waiters, because the state is finished.
    ///
    /// If the slot and the membership in the queue are held, they stay until the operation is idle. After the
    /// last step the thread doesn't deliver any more.
    case close(isHeldUntilIdle: Bool, isLast: Bool)
    /// Release the claims and everything that is attached, because no body is left on a stack.
    case becomeIdle
    /// Run the body, because no event is left. The thread doesn't deliver any more.
    case runBody
    /// Stop, because no event is left. The thread doesn't deliver any more.
    case stop
  }

  /// Returns the next step after the delivering thread has taken a step.
  ///
  /// - Parameters:
  ///   - done: The step.
  ///   - isInBody: True if the thread has the operation's body on its stack. The return of the body then
  ///     comes last. The parameter is only read if the operation can finish or has closed.
  ///   - audience: The receivers of did-finish.
  ///   - machine: The operation's state machine, which the start and the steps of the end change.
  /// - Returns: The next step.
  package mutating func next(
    after done: Done,
    isInBody: Bool,
    to audience: Audience,
    of machine: inout OperationStateMachine
  ) -> Next {
    guard isDelivering else {
      internalError("a thread kept delivering after the end of its delivery")
    }
    switch done {
    case .began, .notified, .sentBody, .becameIdle: break
    case .notifiedOfStart:
      if thread == .delivers {
        machine.bodySent()
        return .sendBody
      }
      thread = .owesBody
    case .notifiedOfWillFinish:
      machine.willFinishNotified()
      // Without a receiver, did-finish isn't delivered, because the delivery would double the cost of the
      // end.
      if isEmpty && audience.isEmpty { return finish(isInBody, &machine) }
      append(.didFinish)
    case .notifiedOfDidFinish:
      if audience.lastObserver == lastNotified { return finish(isInBody, &machine) }
      defer { lastNotified = audience.lastObserver }
      return .notifyLatecomers(after: lastNotified)
    case .closed:
      // If the thread is in the body, the return of the body makes the operation idle.
      if !isInBody, machine.bodyEnded() { return .becomeIdle }
    }
    return nextEvent(to: audience, of: &machine)
  }

  private mutating func nextEvent(
    to audience: Audience,
    of machine: inout OperationStateMachine
  ) -> Next {
    lastNotified = audience.lastObserver
    while let event = takeFirst() {
      guard case .started = event else { return .notify(event) }
      // Observers are only notified of a start if the body will be called.
      switch machine.launchDue() {
      case .execute: return .notify(event)
      case .decided: append(machine.firstEventOfEnd)
      case .none: break
      }
    }
    defer { end() }
    return thread == .owesBody ? .runBody : .stop
  }

  /// Changes the state to finished, in the step that has found no later observer.
  private mutating func finish(_ isInBody: Bool, _ machine: inout OperationStateMachine) -> Next {
    machine.didFinishNotified(isInBody: isInBody)
    // In that case, the thread has nothing to do after closing, so it doesn't ask for another step.
    let isLast = isInBody && !isDue
    if isLast { end() }
    return .close(isHeldUntilIdle: machine.isHeldUntilIdle, isLast: isLast)
  }

  private mutating func end() {
    thread = .none
    outer = .none
  }
}

extension EventDelivery.Event {
  /// The step that the thread has taken when all receivers were notified of the event.
  package var done: EventDelivery.Done {
    switch self {
    case .started: .notifiedOfStart
    case .willFinish: .notifiedOfWillFinish
    case .didFinish: .notifiedOfDidFinish
    case .enqueued, .produced, .progress, .retrying, .cancelled, .leave, .lateFinish: .notified
    }
  }
}

extension OperationStateMachine {
  /// The first event after the outcome was decided; children that were never started leave the queue first.
  package var firstEventOfEnd: EventDelivery.Event {
    if holdsChildren { return .leave }
    guard outcome != nil else { internalError("an operation ended without an outcome") }
    return .willFinish
  }
}
