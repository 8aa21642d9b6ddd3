import CoreOperations

/// All that changes in an advanced operation; guarded by its one lock.
struct AdvancedCore {
  var machine = OperationStateMachine()
  var line = EventLine()
  /// Also some that were removed since.
  var observers: [OperationObservation] = []
  var conditions: [any OperationCondition] = []
  var claims: [ClaimDemand] = []
  var conditionPolicy = AdvancedOperation.ConditionPolicy.evaluateAll
  /// Whether the core keeps slot and membership on our behalf.
  var holdsQuiet = false
  /// Whether the queue may have a delegate.
  var isInAdvancedQueue = false
  /// Whether another operation has waited for this one as a helper; stays set.
  var isAwaitedAsHelper = false
  /// Whether the operation has, or had, a group that hears of its outcome.
  var isChild = false
  /// Whether a journal is asked before the conditions.
  var isJournaled = false
  /// Whether there has been a time limit.
  ///
  /// Not in the extra, where each access is checked to be exclusive at run time.
  var hasTimers = false
  var lastObserver: UInt32 = 0
  var environment: OperationEnvironment?
  /// Made on first use.
  var extra: AdvancedExtra?

  init() {}

  var errors: [any Error] { machine.elements.isEmpty ? [] : machine.elements.map(\.error) }

  /// Whether entering a state has to be recorded or delivered.
  func isOfInterest(_ state: AdvancedOperation.State) -> Bool {
    hasTimers || extra != nil && StateTimes.hasPlace(for: state) || environment?.isTraced == true
  }

  mutating func makeExtra() -> AdvancedExtra {
    if let extra { return extra }
    let made = AdvancedExtra()
    extra = made
    return made
  }

  /// Keeps an observation, and forgets those that were removed, so that they don't pile up.
  mutating func attach(_ observation: OperationObservation) {
    if observers.count == observers.capacity, observers.count >= 8 {
      observers.removeAll { !$0.isAttached }
    }
    observers.append(observation)
  }

  /// Puts what follows a decided end into the line: children leave first, if some were never
  /// started.
  mutating func appendEnd() {
    if machine.holdsChildren { return line.append(.leave) }
    guard machine.outcome != nil else { trap("an end without an outcome") }
    line.append(.willFinish)
  }

  /// What is asked, and how.
  struct Question {
    let conditions: [any OperationCondition]
    let policy: AdvancedOperation.ConditionPolicy
    let claims: [ClaimDemand]
    let isJournaled: Bool
  }

  var question: Question {
    Question(
      conditions: conditions,
      policy: conditionPolicy,
      claims: claims,
      isJournaled: isJournaled
    )
  }

  /// Something to deliver, and the observers that get it.
  struct News: ~Copyable {
    private(set) var item: EventLine.Item
    /// Also some that were removed since.
    private(set) var observers: [OperationObservation]
    /// For those items that are about the end; they don't change any more then.
    private(set) var errors: [any Error]
    /// Whether a delegate may want to hear of it.
    private(set) var isForDelegate: Bool
    /// Whether a group may have to hear of the outcome.
    private(set) var isChild: Bool
    /// How many observers there have been.
    private(set) var lastObserver: UInt32

    init(_ item: EventLine.Item, of core: AdvancedCore) {
      self.item = item
      observers = core.observers
      errors = core.machine.isEndDecided ? core.errors : []
      isForDelegate = core.isInAdvancedQueue
      isChild = core.isChild
      lastObserver = core.lastObserver
    }

    /// Goes on with what came from the line; without a lock, because this lets go of what was told.
    mutating func proceed(to next: consuming NextNews) {
      item = next.item
      // It may have been added to a queue since, by who was told.
      isForDelegate = next.isForDelegate
      isChild = next.isChild
      if let errors = next.errors { self.errors = errors }
      guard let observers = next.observers else { return }
      self.observers = observers
      lastObserver = next.lastObserver
    }
  }

  /// What comes after something that was told.
  ///
  /// A thread that tells has one ``News`` and changes it: a new one for each event was an eighth of
  /// what an operation with an observer cost (callgrind).
  struct NextNews {
    let item: EventLine.Item
    /// Nil when they are those that are known.
    let observers: [OperationObservation]?
    let errors: [any Error]?
    let isForDelegate: Bool
    let isChild: Bool
    let lastObserver: UInt32
  }

  /// How a decided end is told.
  enum End: ~Copyable {
    /// By the caller, from the line.
    case told(News)
    /// By the caller, which has only the hooks to call: there are no observers.
    case unheard([any Error])
    /// By another thread.
    case leftToOthers
  }

  /// The end was decided: puts what follows into the line, unless there are no observers.
  ///
  /// Without observers, taking two items from the line was a fifth of the operation's life
  /// (callgrind).
  mutating func beginEnd(inside outer: Delivery) -> End {
    if observers.isEmpty, !isInAdvancedQueue, !machine.holdsChildren, line.beginAlone(inside: outer)
    {
      return .unheard(errors)
    }
    appendEnd()
    guard let news = beginNews(inside: outer) else { return .leftToOthers }
    return .told(news)
  }

  /// What comes after a will-finish without observers.
  ///
  /// - Parameters:
  ///   - hearsOfOutcome: Whether the operation itself has to hear of its outcome.
  ///   - isInBody: Whether the body is on the stack of this.
  ///   - leftovers: Empty; those of ``didFinish(isInBody:_:)`` if there still are no observers.
  /// - Returns: What is to be told; nil as well if a sweep has begun meanwhile, which tells of
  ///   everything when it is through.
  mutating func newsAfterUnheardWillFinish(
    hearsOfOutcome: Bool,
    isInBody: Bool,
    _ leftovers: inout Leftovers
  ) -> News? {
    machine.willFinishDelivered()
    guard observers.isEmpty, line.isEmpty else {
      line.append(.didFinish)
      return takeNews()
    }
    if hearsOfOutcome || isChild { return News(.didFinish, of: self) }
    didFinish(isInBody: isInBody, &leftovers)
    return nil
  }

  /// Makes the caller the thread that delivers, if there is something and no thread does.
  mutating func beginNews(inside outer: Delivery) -> News? {
    line.beginDelivery(inside: outer) ? takeNews() : nil
  }

  /// What is next in the line; nil ends the delivery.
  mutating func takeNews() -> News? {
    guard let item = line.nextItem() else { return nil }
    return News(item, of: self)
  }

  /// The first observer that came after some; nil if there is none.
  func observer(after id: UInt32) -> OperationObservation? {
    lastObserver == id ? nil : observers.first { $0.id > id }
  }

  /// What comes after something that was told; nil ends the delivery.
  mutating func news(after told: borrowing News) -> NextNews? {
    switch told.item {
    case .started: line.append(.launch)
    case .willFinish:
      machine.willFinishDelivered()
      line.append(.didFinish)
    case .enqueued, .launch, .produced, .progress, .retrying, .cancelled, .leave, .didFinish,
      .lateFinish:
      break
    }
    return nextNews(telling: told.lastObserver)
  }

  /// What comes after did-start, which was told by one who can run the body: in the same step
  /// decides whether to do that, unless something is to be told before.
  ///
  /// - Parameters:
  ///   - told: Did-start.
  ///   - isLaunched: Turns true if so.
  /// - Returns: What is to be told next; nil ends the delivery.
  mutating func newsAfterStart(_ told: borrowing News, isLaunched: inout Bool) -> NextNews? {
    guard line.isEmpty, !line.isHeldForSweep else { return news(after: told) }
    switch machine.launchDue() {
    case .execute:
      isLaunched = true
      line.endDelivery()
      return nil
    case .finish: appendEnd()
    case .none: break
    }
    return nextNews(telling: told.lastObserver)
  }

  private mutating func nextNews(telling lastObserver: UInt32) -> NextNews? {
    guard let item = line.nextItem() else { return nil }
    return NextNews(
      item: item,
      observers: lastObserver == self.lastObserver ? nil : observers,
      errors: machine.isEndDecided ? errors : nil,
      isForDelegate: isInAdvancedQueue,
      isChild: isChild,
      lastObserver: self.lastObserver
    )
  }

  /// Did-finish was told: the state turns finished.
  ///
  /// - Parameters:
  ///   - isInBody: Whether the body is on the stack of this, so that its return comes last.
  ///   - end: Empty; gets what is released, and what is notified of the end.
  mutating func didFinish(isInBody: Bool, _ end: inout Leftovers) {
    machine.didFinishDelivered(isInBody: isInBody)
    end.isFinished = true
    end.holdsQuiet = holdsQuiet
    end.extra = extra
    swap(&end.observers, &observers)
    swap(&end.conditions, &conditions)
    // Who isn't counted as a body has no reason to come back here.
    if isInBody, !line.isDue {
      line.endDelivery()
      end.isDeliveryOver = true
    }
  }

  /// What is let go of when the operation has finished.
  struct Leftovers: ~Copyable {
    fileprivate(set) var observers: [OperationObservation] = []
    fileprivate(set) var conditions: [any OperationCondition] = []
    fileprivate(set) var extra: AdvancedExtra?
    fileprivate(set) var holdsQuiet = false
    /// Whether the state has turned finished.
    fileprivate(set) var isFinished = false
    /// Whether nothing is left to be told either.
    fileprivate(set) var isDeliveryOver = false

    mutating func letGoOfConditions() { conditions = [] }
  }

  /// What a quiet operation gives back, besides its queue.
  struct Held: ~Copyable {
    let claims: [ClaimDemand]
    let domain: ExclusivityDomain?
    let holdsQuiet: Bool
    let afterQuiet: [@Sendable (AdvancedOperation) -> Void]
    let tracer: (any OperationTracer)?
  }

  /// Takes it out; nil if there is nothing, as for most.
  mutating func takeHeld() -> Held? {
    if claims.isEmpty, !holdsQuiet, extra == nil { return nil }
    return Held(
      claims: exchange(&claims, with: []),
      domain: environment?.exclusivity,
      holdsQuiet: exchange(&holdsQuiet, with: false),
      afterQuiet: extra.map { exchange(&$0.afterQuiet, with: []) } ?? [],
      tracer: environment?.isTraced == true ? environment?.tracer : nil
    )
  }
}

/// An observer of all operations of a queue.
struct ObserverEntry: Sendable {
  let id: UInt32
  let observer: any OperationObserver
}

/// What few operations have; only touched under the lock of the ``AdvancedCore`` that it is in.
final class AdvancedExtra {
  /// Evaluates conditions.
  var evaluation: Task<Void, Never>?
  /// How many of these tasks there have been.
  var evaluationCount = 0
  /// Whether conditions will be asked early, because a dependency has finished.
  var isAskedSoon = false
  /// Whether they were to be asked early and have not been, because the queue is suspended.
  var isAskOwed = false
  /// Helpers that were added to a queue on the operation's behalf.
  var helpers: [AdvancedOperation] = []
  /// All helpers that have to end before the conditions are asked, also those that others run.
  var awaitedHelpers: [AdvancedOperation] = []
  /// Time limits that have not begun to count, and those that have.
  var timeouts: [TimeLimit] = []
  var timers: [(phase: TimeoutObserver.Phase, timer: OperationTimer)] = []
  /// When it entered its states, since there is an extra.
  var stateTimes = StateTimes()
  /// Which of the conditions have been asked and have not answered.
  var openConditions: [Int] = []
  /// The circuit breakers that have counted its end.
  var breakers: [ObjectIdentifier] = []
  /// The number of the attempt that is going on, or was the last.
  var attempt = 1
  /// The operation that recovers from a failure of this one, the last that was made.
  weak var recovery: AdvancedOperation?
  /// Whether another operation has succeeded in recovering from a failure of this one.
  var isRecovered = false
  /// The operation that has produced it.
  weak var producer: AdvancedOperation?
  /// Run when the operation is finished, or quiet.
  var afterFinished: [@Sendable () -> Void] = []
  var afterQuiet: [@Sendable (AdvancedOperation) -> Void] = []
  /// The operation that this one is a child of: a group, or one that repeats.
  weak var group: AdvancedOperation?
}
