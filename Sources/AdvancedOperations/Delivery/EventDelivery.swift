/// The events of one operation in their order, and the thread that delivers them: one at a time.
///
/// A plain value behind the operation's lock. A thread that appends an event while no thread
/// delivers becomes the one that does, until no event is left; otherwise the thread that delivers
/// takes the event along. So callbacks of one operation never overlap, and a call from inside a
/// callback never nests.
///
/// The thread asks ``next(after:isInBody:to:of:)`` under the lock and performs the answer without
/// it, in `AdvancedOperation.deliverDueEvents(startsOperation:)`.
package struct EventDelivery {
  /// An event to be delivered.
  ///
  /// One word: the cases that carry more are boxed, because each event is copied several times, and
  /// those of every operation carry nothing (12 retains per operation before, by callgrind).
  package enum Event {
    case enqueued
    /// The start is decided when this is taken from the list; the body follows.
    case started
    case produced(AdvancedOperation)
    indirect case progress(OperationProgress)
    indirect case retrying(OperationRetry)
    indirect case cancelled([any Error], callsHook: Bool)
    /// The outcome was decided before the children were started: they leave, and will-finish
    /// follows.
    case leave
    /// Did-finish follows, behind the events that are appended in the meantime.
    case willFinish
    case didFinish
    /// Did-finish for an observer that was added to a finished operation.
    indirect case lateFinish(any OperationObserver)
  }

  // Mostly there is no second event, and so no array: three of them per operation before, by
  // callgrind.
  private var first: Event?
  private var others: [Event] = []
  /// The index of the first of the others that isn't taken.
  private var index: Int32 = 0
  /// The operation in whose callback the thread has begun to deliver.
  private(set) var outer = CallContext.Notified.none
  /// The last observer that was attached when observers were notified of the last event.
  private var lastNotified: UInt32 = 0
  /// The number of sweeps over many operations that hold the events back; they may overlap.
  private var sweepCount: UInt16 = 0
  private var thread = DeliveringThread.none

  /// The thread that delivers, as far as the body of the operation is concerned.
  private enum DeliveringThread {
    case none
    /// It has other things to do than to run the body.
    case delivers
    /// It starts the operation, and will run the body.
    case startsOperation
    /// The same, and observers were notified of the start.
    case owesBody
  }

  package init() {}

  package var isEmpty: Bool { first == nil }
  /// Whether an event may be delivered now.
  package var isDue: Bool { !isEmpty && sweepCount == 0 }
  /// Whether a thread delivers.
  package var isDelivering: Bool { thread != .none }

  // MARK: Events

  package mutating func append(_ event: Event) {
    if isEmpty { first = event } else { others.append(event) }
  }

  /// Takes out an event that was announced and hasn't come about, of a list that was held since.
  package mutating func removeProduced(_ operation: AdvancedOperation) {
    let events = ([first].compactMap { $0 } + others[Int(index)...]).filter { event in
      if case .produced(operation) = event { false } else { true }
    }
    first = events.first
    others = Array(events.dropFirst())
    index = 0
  }

  /// A sweep over many operations has reached this one; ``sweepEnded()`` follows.
  package mutating func sweepBegan() { sweepCount += 1 }

  /// A sweep has reached all of its operations.
  package mutating func sweepEnded() { sweepCount -= 1 }

  // An event that was taken isn't kept, so that no object of the program is released under the lock.
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
  ///   - startsOperation: Whether the thread will run the body if that becomes due.
  /// - Returns: Whether the caller has to ask ``next(after:isInBody:to:of:)`` until that says `stop`.
  package mutating func begin(inside outer: CallContext.Notified, startsOperation: Bool) -> Bool {
    guard !isDelivering, isDue else { return false }
    thread = startsOperation ? .startsOperation : .delivers
    self.outer = outer
    return true
  }

  /// A step that the delivering thread has taken, as far as the next one depends on it.
  package enum Done: CaseIterable {
    case began
    /// Observers were notified of an event from which nothing follows.
    case notified
    case notifiedOfStart, notifiedOfWillFinish, notifiedOfDidFinish
    case sentBody
    case closed
    case becameIdle

    /// Whether the operation can finish after this.
    var mayFinish: Bool { self == .notifiedOfWillFinish || self == .notifiedOfDidFinish }
  }

  /// The receivers of did-finish besides the observers in the thread's hand.
  package struct Audience {
    /// The number of the observer that was attached last.
    package var lastObserver: UInt32
    /// Whether did-finish has neither an observer nor another receiver.
    package var isEmpty: Bool

    package init(lastObserver: UInt32, isEmpty: Bool) {
      self.lastObserver = lastObserver
      self.isEmpty = isEmpty
    }
  }

  /// The next step of the delivering thread, to be taken without the lock.
  package enum Next {
    /// Notify everything that hears of an event.
    case notify(Event)
    /// Notify of did-finish the observers with a higher number: they were attached while others
    /// were notified.
    case notifyLatecomers(after: UInt32)
    /// Have another thread run the body: this one only delivers.
    case sendBody
    /// The state is finished: release dependents and waiters. Slot and membership stay until the
    /// operation is idle, if they are held. After the last step the thread doesn't deliver any more.
    case close(isHeldUntilIdle: Bool, isLast: Bool)
    /// No body is left on a stack: release the claims, and all that is attached.
    case becomeIdle
    /// Nothing is left to deliver: run the body. The thread doesn't deliver any more.
    case runBody
    /// Nothing is left to do. The thread doesn't deliver any more.
    case stop
  }

  /// The delivering thread has taken a step.
  ///
  /// - Parameters:
  ///   - done: The step.
  ///   - isInBody: Whether the thread has the operation's body on its stack, whose return comes
  ///     last. Only read where the operation can finish or has closed.
  ///   - audience: The receivers of did-finish.
  ///   - machine: The operation's state, which the start, and the steps of the end, move on.
  /// - Returns: The next step.
  package mutating func next(
    after done: Done,
    isInBody: Bool,
    to audience: Audience,
    of machine: inout OperationStateMachine
  ) -> Next {
    guard isDelivering else { trap("a thread went on delivering after the end of its delivery") }
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
      // Without a receiver, did-finish isn't delivered, which costs as much as all else of an end.
      if isEmpty && audience.isEmpty { return finish(isInBody, &machine) }
      append(.didFinish)
    case .notifiedOfDidFinish:
      if audience.lastObserver == lastNotified { return finish(isInBody, &machine) }
      defer { lastNotified = audience.lastObserver }
      return .notifyLatecomers(after: lastNotified)
    case .closed:
      // In the body, the return of that comes last, and makes the operation idle.
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
      // Observers are only notified of a start whose body will be called.
      switch machine.launchDue() {
      case .execute: return .notify(event)
      case .decided: append(machine.firstEventOfEnd)
      case .none: break
      }
    }
    defer { end() }
    return thread == .owesBody ? .runBody : .stop
  }

  /// The state turns finished in the step that has found no later observer.
  private mutating func finish(_ isInBody: Bool, _ machine: inout OperationStateMachine) -> Next {
    machine.didFinishNotified(isInBody: isInBody)
    // Closing doesn't count as a body then, so the thread has no reason to ask again.
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
  /// The step that the thread has taken when everything was notified of the event.
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
  /// The first event after the outcome was decided: children leave first, if some were never
  /// started.
  package var firstEventOfEnd: EventDelivery.Event {
    if holdsChildren { return .leave }
    guard outcome != nil else { trap("an end without an outcome") }
    return .willFinish
  }
}
