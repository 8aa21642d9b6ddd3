/// What one thread tells about an operation: the event at hand, what gets it, and what is released
/// and given back when all is told.
///
/// The thread that delivers has it until nothing is left to be told. The core fills it in under the
/// operation's lock, see ``AdvancedCore/proceed(_:_:)``; the thread acts on it without. It is
/// changed from event to event: a new one for each was an eighth of what an operation with an
/// observer cost (callgrind).
struct Telling: ~Copyable {
  /// What the thread does next.
  enum Step {
    /// Notifies everything of an event.
    case event(EventLine.Item)
    /// Notifies one observer of the end, which was attached while others were notified of it.
    case latecomer(OperationObservation)
    /// Releases what a finished operation had, and has its end reported.
    case report
    /// Nothing: another thread may deliver from now on.
    case none
  }

  fileprivate(set) var step: Step
  /// Also observers that were removed since.
  fileprivate(set) var observers: [OperationObservation]
  /// Those of the operation, once its end is decided.
  fileprivate(set) var errors: [any Error]
  /// Whether a delegate may want to hear of it.
  fileprivate(set) var isForDelegate: Bool
  /// Whether a group may have to hear of the outcome.
  fileprivate(set) var isChild: Bool
  /// How many observers there have been.
  private var lastObserver: UInt32
  /// Whether the thread has to run the body after this.
  var mustLaunch = false
  /// Whether another thread may deliver although the report is still to be made.
  fileprivate(set) var isOverWithReport = false
  /// What the report is about.
  var end = End()
  /// Whether no body is going on any more, and what is given back since then.
  var isQuiet = false
  var toGiveBack: Loans?
  /// Observers that are outdated, for a release without the lock.
  private var outdated: [OperationObservation] = []

  fileprivate init(_ item: EventLine.Item, of core: borrowing AdvancedCore) {
    step = .event(item)
    observers = core.observers
    errors = core.machine.isEndDecided ? core.errors : []
    isForDelegate = core.mayHaveDelegate
    isChild = core.isChild
    lastObserver = core.lastObserver
  }

  /// A step was made; without the lock, because this releases what was told.
  mutating func stepDone() -> Done {
    let done: Done =
      switch step {
      case .event(.started): .started
      case .event(.willFinish): .willFinish
      case .event(.didFinish), .latecomer: .didFinish
      case .report: .report
      case .event(.enqueued), .event(.produced), .event(.progress),
        .event(.retrying), .event(.cancelled), .event(.leave), .event(.lateFinish), .none:
        .other
      }
    step = .none
    if !outdated.isEmpty { outdated = [] }
    return done
  }

  /// A step that was made, as far as the next one depends on it.
  enum Done {
    case started, willFinish, didFinish, report, other

    /// Whether it is one of the two that the end waits for.
    var isPartOfEnd: Bool { self == .willFinish || self == .didFinish }
  }

  /// Goes on with the next event.
  fileprivate mutating func take(_ item: EventLine.Item, from core: borrowing AdvancedCore) {
    step = .event(item)
    // What was notified may have added the operation to a queue.
    isForDelegate = core.mayHaveDelegate
    isChild = core.isChild
    // They may have grown by those of children that left.
    if core.machine.isEndDecided, errors.count != core.machine.elements.count {
      errors = core.errors
    }
    if lastObserver == core.lastObserver { return }
    swap(&outdated, &observers)
    observers = core.observers
    lastObserver = core.lastObserver
  }

  /// The first observer that was attached since the event began to be told; nil if there is none.
  fileprivate mutating func takeLatecomer(from core: borrowing AdvancedCore) -> Bool {
    if lastObserver == core.lastObserver { return false }
    let known = lastObserver
    guard let latecomer = core.observers.first(where: { $0.id > known }) else { return false }
    lastObserver = latecomer.id
    step = .latecomer(latecomer)
    return true
  }

  /// What is reported of an operation that has finished.
  struct End: ~Copyable {
    /// Those that are told nothing more.
    var observers: [OperationObservation] = []
    var extra: AdvancedExtra?
    var holdsQuiet = false
  }

  /// What an operation has until it is quiet, besides its place in a queue.
  struct Loans: ~Copyable {
    let claims: [ClaimDemand]
    let domain: ExclusivityDomain?
    let holdsQuiet: Bool
    let afterQuiet: [@Sendable (AdvancedOperation) -> Void]
    let tracer: (any OperationTracer)?
    let attached: Attached?

    /// Objects of the program, whose deinits may wait for the end.
    final class Attached {
      private let observers: [OperationObservation]
      private let conditions: [any OperationCondition]
      private let evaluation: RunningEvaluation
      private let keptAnswers: [ObjectIdentifier: CompoundRun.Answers]
      private let rollbacks: [RollbackList.Rollback]

      fileprivate init(to core: inout AdvancedCore) {
        observers = exchange(&core.observers, with: [])
        conditions = exchange(&core.conditions, with: [])
        let extra = core.extra
        evaluation =
          extra.map { exchange(&$0.evaluation, with: RunningEvaluation()) } ?? RunningEvaluation()
        keptAnswers = extra.map { exchange(&$0.keptAnswers, with: [:]) } ?? [:]
        rollbacks = extra.map { exchange(&$0.rollbacks, with: []) } ?? []
      }

      /// Lets go of the observers; the rest goes with this.
      func removeObservers() { for observation in observers { observation.remove() } }
    }

    fileprivate init(of core: inout AdvancedCore) {
      claims = exchange(&core.claims, with: [])
      domain = core.environment?.exclusivity
      holdsQuiet = exchange(&core.holdsQuiet, with: false)
      tracer = core.environment?.isTraced == true ? core.environment?.tracer : nil
      afterQuiet = core.extra.map { exchange(&$0.afterQuiet, with: []) } ?? []
      let isBare = core.observers.isEmpty && core.conditions.isEmpty && core.extra == nil
      attached = isBare ? nil : Attached(to: &core)
    }
  }
}

extension AdvancedCore {
  /// What the thread that tells knows of itself.
  struct Teller {
    /// What it has done.
    let done: Telling.Done
    /// Whether it will run the body when that is due.
    let launchesHere: Bool
    /// Whether the operation's body is on its stack, so that the return of that comes last.
    let isInBody: Bool
    /// Whether the operation itself has to hear of its outcome.
    let hearsOfOutcome: Bool
  }

  /// Makes the caller the thread that tells, if there is something to tell and no thread does.
  mutating func beginTelling(inside outer: Delivery) -> Telling? {
    guard line.beginDelivery(inside: outer), let item = nextItem() else { return nil }
    return Telling(item, of: self)
  }

  /// The next event; nil ends the delivery.
  ///
  /// Whether the operation starts is decided here: a start is told if its body will be called.
  private mutating func nextItem() -> EventLine.Item? {
    while let item = line.nextItem() {
      guard case .started = item else { return item }
      switch machine.launchDue() {
      case .execute: return item
      case .finish: appendEnd()
      case .none: break
      }
    }
    return nil
  }

  /// The end was decided: makes the caller the thread that tells of it, if no thread tells.
  mutating func beginTellingEnd(inside outer: Delivery) -> Telling? {
    if line.beginAlone(inside: outer) { return Telling(firstOfEnd, of: self) }
    appendEnd()
    return beginTelling(inside: outer)
  }

  /// Puts what follows a decided end into the line.
  mutating func appendEnd() { line.append(firstOfEnd) }

  /// Children leave first, if some were never started.
  private var firstOfEnd: EventLine.Item {
    if machine.holdsChildren { return .leave }
    guard machine.outcome != nil else { trap("an end without an outcome") }
    return .willFinish
  }

  /// Decides what follows a step of the thread that tells.
  ///
  /// What comes of it outside of the lock stands in the telling: the next step, whether to run the
  /// body, and what to give back.
  mutating func proceed(_ telling: inout Telling, _ teller: Teller) {
    switch teller.done {
    case .started: if teller.launchesHere { telling.mustLaunch = true } else { holdsQuiet = true }
    case .willFinish:
      machine.willFinishDelivered()
      if isEndUnobserved, !teller.hearsOfOutcome { return finish(&telling, teller) }
      line.append(.didFinish)
    case .didFinish:
      if !telling.takeLatecomer(from: self) { finish(&telling, teller) }
      return
    case .report:
      if !teller.isInBody, machine.bodyEnded() {
        telling.isQuiet = true
        telling.toGiveBack = takeLoans()
      }
    case .other: break
    }
    if let item = nextItem() { telling.take(item, from: self) }
  }

  /// Whether did-finish would be told to nothing: it isn't told then, which costs as much as all
  /// else of an end.
  private var isEndUnobserved: Bool {
    observers.isEmpty && line.isEmpty && !mayHaveDelegate && !isChild
  }

  /// Did-finish was told: the state turns finished.
  private mutating func finish(_ telling: inout Telling, _ teller: Teller) {
    machine.didFinishDelivered(isInBody: teller.isInBody)
    telling.step = .report
    telling.end.holdsQuiet = holdsQuiet
    telling.end.extra = extra
    telling.end.observers = observers
    // What isn't counted as a body has no reason to come back here.
    guard teller.isInBody, !line.isDue else { return }
    line.endDelivery()
    telling.isOverWithReport = true
  }

  /// Takes out what a quiet operation gives back; nil if there is nothing, as for most.
  mutating func takeLoans() -> Telling.Loans? {
    if claims.isEmpty, !holdsQuiet, extra == nil, observers.isEmpty, conditions.isEmpty {
      return nil
    }
    return Telling.Loans(of: &self)
  }
}
