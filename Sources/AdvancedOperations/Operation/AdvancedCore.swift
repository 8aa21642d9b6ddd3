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
  /// Whether the operation is another one's helper, which adds it to a queue.
  var isClaimedAsHelper = false
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

  /// Whether somebody has to hear that a state was entered.
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

  /// Puts what follows a decided end into the line.
  mutating func appendEnd() {
    guard machine.outcome != nil else { trap("an end without an outcome") }
    line.append(.willFinish)
  }

  /// Something to be told, and to whom.
  struct News: ~Copyable {
    let item: EventLine.Item
    let observers: [OperationObservation]
    /// For those items that are about the end; they don't change any more then.
    let errors: [any Error]
    let outcome: OperationOutcome?
    /// Whether a delegate may want to hear of it.
    let isForDelegate: Bool
  }

  /// How a decided end is told.
  enum End: ~Copyable {
    /// By the caller, from the line.
    case told(News)
    /// By the caller, who has only the hooks to call: nobody listens.
    case unheard([any Error])
    /// By somebody else.
    case leftToOthers
  }

  /// The end was decided: puts what follows into the line, unless there is nobody to be told of it.
  ///
  /// Where nobody listens, taking two items from the line was a fifth of the operation's life (callgrind).
  mutating func beginEnd(inside outer: AdvancedOperation?) -> End {
    if observers.isEmpty, !isInAdvancedQueue, line.beginAlone(inside: outer) {
      return .unheard(errors)
    }
    appendEnd()
    guard let news = beginNews(inside: outer) else { return .leftToOthers }
    return .told(news)
  }

  /// How the rest of an end is told, whose will-finish was told to nobody.
  ///
  /// To others if a sweep has begun meanwhile, which tells of everything when it is through.
  mutating func endAfterUnheardWillFinish() -> End {
    machine.willFinishDelivered()
    if observers.isEmpty, line.isEmpty { return .unheard(errors) }
    line.append(.didFinish)
    guard let news = nextNews() else { return .leftToOthers }
    return .told(news)
  }

  /// Makes the caller the one who delivers, if there is something and nobody does.
  mutating func beginNews(inside outer: AdvancedOperation?) -> News? {
    line.beginDelivery(inside: outer) ? nextNews() : nil
  }

  /// What comes after something that was told; nil ends the delivery.
  mutating func nextNews(after told: borrowing News) -> News? {
    switch told.item {
    case .started: line.append(.launch)
    case .willFinish:
      machine.willFinishDelivered()
      line.append(.didFinish)
    case .enqueued, .launch, .produced, .progress, .cancelled, .didFinish, .lateFinish: break
    }
    return nextNews()
  }

  mutating func nextNews() -> News? {
    guard let item = line.nextItem() else { return nil }
    return News(
      item: item,
      observers: observers,
      errors: machine.isEndDecided ? errors : [],
      outcome: machine.outcome,
      isForDelegate: isInAdvancedQueue
    )
  }

  /// What is let go of when the operation has finished, and what is to be called then.
  struct Leftovers: ~Copyable {
    let observers: [OperationObservation]
    let conditions: [any OperationCondition]
    let helpers: [AdvancedOperation]
    let evaluation: Task<Void, Never>?
    let afterFinished: [@Sendable () -> Void]
  }

  /// Takes it out; nil if there is nothing, as for most.
  mutating func takeLeftovers() -> Leftovers? {
    if observers.isEmpty, conditions.isEmpty, extra == nil { return nil }
    return Leftovers(
      observers: Self.taken(&observers),
      conditions: Self.taken(&conditions),
      helpers: extra.map { Self.taken(&$0.helpers) } ?? [],
      evaluation: extra?.evaluation.take(),
      afterFinished: extra.map { Self.taken(&$0.afterFinished) } ?? []
    )
  }

  private static func taken<Element>(_ elements: inout [Element]) -> [Element] {
    exchange(&elements, with: [])
  }

  /// What a quiet operation gives back, besides its queue.
  struct Held: ~Copyable {
    let claims: [ClaimDemand]
    let domain: ExclusivityDomain?
    let holdsQuiet: Bool
    let afterQuiet: [@Sendable () -> Void]
  }

  /// Takes it out; nil if there is nothing, as for most.
  mutating func takeHeld() -> Held? {
    if claims.isEmpty, !holdsQuiet, extra == nil { return nil }
    return Held(
      claims: Self.taken(&claims),
      domain: environment?.exclusivity,
      holdsQuiet: exchange(&holdsQuiet, with: false),
      afterQuiet: extra.map { Self.taken(&$0.afterQuiet) } ?? []
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
  /// Asks the conditions.
  var evaluation: Task<Void, Never>?
  /// Whether conditions will be asked early, because a dependency has finished.
  var isAskedSoon = false
  /// Whether they were to be asked early and have not been, because the queue is suspended.
  var isAskOwed = false
  /// Helpers that were added to a queue on the operation's behalf.
  var helpers: [AdvancedOperation] = []
  /// Time limits that have not begun to count, and those that have.
  var timeouts: [TimeLimit] = []
  var timers: [(phase: TimeoutObserver.Phase, timer: OperationTimer)] = []
  /// When it entered its states, since there is an extra.
  var stateTimes = StateTimes()
  /// Which of the conditions have been asked and have not answered.
  var openConditions: [Int] = []
  /// When it is to be tried again.
  var retryTime: Duration?
  /// The operation that has produced it.
  weak var producer: AdvancedOperation?
  /// Run when the operation is finished, or quiet.
  var afterFinished: [@Sendable () -> Void] = []
  var afterQuiet: [@Sendable () -> Void] = []
  /// The operation that this one is a child of: a group, or one that repeats.
  weak var group: AdvancedOperation?
}
