package import CoreOperations

/// An operation with conditions, observers, errors, and cancellation with reasons.
///
/// Override ``execute()`` and call ``finish()`` when the work is done, or use ``ResultOperation``
/// with an async body. The operation goes through ``State-swift.enum``, only ever forward: when its
/// dependencies have finished its conditions are evaluated; when they hold and its turn has come it
/// executes; when it finishes, observers are notified before dependents start.
///
/// ```swift
/// final class Import: AdvancedOperation, @unchecked Sendable {
///   override func execute() {
///     do {
///       try importAll()
///       finish()
///     } catch {
///       finish(withError: error)
///     }
///   }
/// }
/// let importing = Import()
/// importing.addCondition(FileExists("/data/feed.json"))
/// importing.addClaim(MutuallyExclusive("database"))
/// importing.onFinish { operation, outcome in print(operation, outcome) }
/// queue.addOperation(importing)
/// ```
///
/// All members can be used from any thread, and from every callback. Hooks, conditions and
/// observers are never called with a lock held.
///
/// A subclass overrides ``execute()``, ``finished(withErrors:)``, ``cancelled(withErrors:)`` and
/// ``cancellationPolicy-swift.property``. States can't be overridden.
open class AdvancedOperation: Operation, @unchecked Sendable {
  // Sendable: `core` is only reached with its lock held; `cancellationPolicy` is the override's
  // affair.

  /// Where an operation is in its life; cancelled is a flag beside it.
  public enum State: Int, Comparable, Sendable, CaseIterable {
    /// Waiting for dependencies, or not enqueued.
    case pending
    /// The dependencies have finished and the conditions are being evaluated.
    case evaluatingConditions
    /// Waiting for a slot, or for a claim.
    case ready
    /// From did-start to the decision that it ends.
    case executing
    /// The end is decided; observers are being notified, once the children of a group that never
    /// executed have left.
    case finishing
    /// Over.
    case finished

    /// Whether the first comes before the second.
    public static func < (a: State, b: State) -> Bool { a.rawValue < b.rawValue }
  }

  /// The part of the operation that runs others and waits for them; nil for most operations.
  final var childRunner: (any ChildRunner)? { unsafe runner }
  // The operation itself, or an object that it owns, and that was set while initializing.
  private final unowned(unsafe) var runner: (any ChildRunner)?
  /// Whether the operation may run others and wait for them, other than with its own code.
  final var mayRunOthers: Bool { unsafe runner != nil }

  /// Sets what runs the operation's children; once, while initializing.
  final func run(childrenBy runner: any ChildRunner) { unsafe self.runner = runner }

  private let coreLock = Lock()
  // Not checked for overlapping accesses, because the lock isn't recursive.
  @exclusivity(unchecked) private final var core = AdvancedCore()

  /// All that changes, with its lock held.
  @inline(__always)
  final func withCore<Result: ~Copyable>(_ body: (inout AdvancedCore) -> Result) -> Result {
    coreLock.withLock { unsafe body(&core) }
  }

  // The only designated initialiser, and one without need of arguments, so that subclasses needn't
  // call it themselves.

  /// Creates an operation without conditions and observers.
  ///
  /// A subclass inherits it, or calls it as `super.init()` or `super.init(name:)`; an initialiser
  /// that calls neither begins with the former. An `init()` of a subclass is no `override`.
  ///
  /// - Parameter name: What the operation is called in explanations, logs and errors; nil for the
  ///   name of its type.
  public init(name: String? = nil) {
    super.init()
    attachLayer()
    if let name { self.name = name }
  }

  // An observer may have its own observation, and both would stay behind.
  deinit { for observation in unsafe core.observers { observation.remove() } }

  /// The operation whose body or condition runs here, on this thread or in this task; nil outside.
  public static var current: AdvancedOperation? { CurrentCode.operation as? AdvancedOperation }

  /// The operation of this type whose body runs here.
  static func running() -> Self {
    guard let operation = current as? Self else { trap("the body of a \(Self.self) ran elsewhere") }
    return operation
  }

  // MARK: Hooks

  /// Does the work, and calls ``finish()`` or one of its siblings, here or later; the default
  /// finishes at once.
  ///
  /// Called once, on a worker, without a lock held, after observers were notified of the start. It
  /// is called if, and only if, they were: an operation that is cancelled before that, or whose
  /// conditions aren't satisfied, finishes without it. A cancel that comes while observers are
  /// notified of the start arrives in the body, which finds ``isCancelled`` true. There is one
  /// exception: if an observer of the start calls `finish()` or `skip(reason:)`, the operation has
  /// ended, and the body isn't called. Overrides need not call `super`.
  open func execute() { finish() }

  /// Called once when the end was decided, before observers are notified.
  ///
  /// Without a lock held, on the thread that decided the end or on one that was notifying
  /// observers. Nothing can prevent the end here. Overrides need not call `super`.
  ///
  /// - Parameter errors: What ``errors`` holds; it doesn't change any more.
  open func finished(withErrors errors: [any Error]) {}

  /// Called once when an operation was cancelled after it had started: stop the work here.
  ///
  /// With the ``cancellationPolicy`` ``CancellationPolicy/whenFinishIsCalled``, make the body call
  /// `finish()` soon; with ``CancellationPolicy/finishImmediately`` the end is decided already, and
  /// ``finished(withErrors:)`` follows. `execute()` may not have returned yet. It may not have been
  /// called yet if the cancel comes while observers are notified of the start. Without a lock held,
  /// after observers were notified of the cancel. Overrides need not call `super`.
  ///
  /// - Parameter errors: What ``errors`` held at the time of the cancel.
  open func cancelled(withErrors errors: [any Error]) {}

  /// What a cancel does while executing; ``CancellationPolicy/finishImmediately`` unless
  /// overridden.
  ///
  /// Read at each cancel, without a lock held. What it returns counts at the first one, if the
  /// operation is executing then. At a later cancel it is read and ignored: that cancel only adds
  /// its reason to ``errors``, and can't make an operation finish at once whose first cancel waits
  /// for the body. An operation that is cancelled before it executes finishes without executing,
  /// whatever the policy. Operations with async bodies and groups have
  /// ``CancellationPolicy/whenFinishIsCalled``.
  open var cancellationPolicy: CancellationPolicy { .finishImmediately }

  // What subclasses of this module add.

  /// Called at a cancel whose policy is to wait for the body, before the hook.
  func stopBody() { childRunner?.stop(reason: cancellationReason) }
  /// The value of an operation that has no other than `Void`, and so needn't wait for its body.
  var valueOfVoid: (any Sendable)? { nil }
  /// Releases what the work needed: called when the operation is idle, and when a simulation has
  /// abandoned it, which may be while it executes.
  func releaseResources() {}

  // MARK: Operation

  /// Starts the operation manually; a queue does this by itself.
  ///
  /// The operation runs on the caller's thread if there is nothing to evaluate or to claim.
  /// Otherwise the method begins the evaluation and returns. The operation then runs on the
  /// executor of its ``environment``, with its claims and without a slot, and is retained until it
  /// has finished, as in a queue. Does nothing for an operation that has finished.
  ///
  /// - Precondition: In no queue, not started, and the dependencies finished or the operation
  ///   cancelled.
  public final override func start() {
    if wasStartedByQueue {
      takeTurn()
    } else if !isFinished {
      startManually()
    }
  }

  /// Does nothing: the work is in ``execute()``.
  public final override func main() {}

  /// Cancels without a reason; see ``cancel(withError:)``.
  public final override func cancel() { cancel(reason: nil) }

  /// Cancels with a reason.
  ///
  /// Returns with ``isCancelled`` true unless the end was already decided, in which case nothing
  /// changes. In no queue, the operation stays pending and finishes when it is enqueued or started.
  /// Waiting in a queue, it no longer waits for anything and leaves without executing. While it
  /// executes, ``cancellationPolicy`` decides. The first cancel notifies observers; later ones only
  /// add their reason to ``errors``.
  ///
  /// - Parameter error: The reason, in ``errors`` and `cancellationReason` from then on.
  public final func cancel(withError error: any Error) {
    cancel(reason: OperationFailure.Element(origin: .cancel, error: error))
  }

  /// Whether the operation was cancelled before its end was decided.
  public final override var isCancelled: Bool { super.isCancelled }

  /// Whether the state is ``State-swift.enum/executing``, or ``State-swift.enum/finishing`` after
  /// the operation has started.
  public final override var isExecuting: Bool {
    let (state, hasStarted) = withCore { ($0.machine.state, $0.machine.hasStarted) }
    return state == .executing || state == .finishing && hasStarted
  }

  /// Whether the state is ``State-swift.enum/finished``.
  public final override var isFinished: Bool { withCore { $0.machine.state } == .finished }

  /// Whether the dependencies have finished and the conditions hold; true from then on.
  public final override var isReady: Bool { state >= .ready || super.isReady }

  /// True: the work may go on after ``start()`` returned.
  public final override var isAsynchronous: Bool { true }

  /// True.
  public final override var isConcurrent: Bool { true }

  /// Makes this operation wait for another, which need not be in the same queue.
  ///
  /// Counts until the operation executes; afterwards it is only recorded. Conditions that have been
  /// asked aren't begun again because of it. Overrides call `super`.
  ///
  /// - Parameter op: Retained as long as it is a dependency.
  /// - Complexity: O(1), amortised.
  open override func addDependency(_ op: Operation) {
    super.addDependency(op)
    dependencyAdded(op)
  }

  /// Blocks the thread until the operation has finished.
  ///
  /// - Precondition: Not called from a callback of this operation, which would wait for itself.
  @available(*, noasync, message: "It blocks the thread; use 'try await untilFinished()'.")
  public final override func waitUntilFinished() {
    if isDeliveredHere, !isFinished {
      trap(
        "waitUntilFinished() was called on operation “\(label)” from one of its own callbacks, "
          + "which it waits for. Wait somewhere else, or use onFinish."
      )
    }
    super.waitUntilFinished()
  }

  /// Whether this thread is in a callback of the operation, however deep.
  private var isDeliveredHere: Bool {
    var operation = CallContext.current.notified.operation
    while let inner = operation, inner !== self {
      operation = inner.withCore { $0.delivery.outer.operation }
    }
    return operation != nil
  }

  // MARK: Attaching

  /// How many of the conditions are evaluated; changes after the operation was enqueued are
  /// ignored.
  public final var conditionPolicy: ConditionPolicy {
    get { withCore { $0.conditionPolicy } }
    set {
      withCore { core in
        if core.machine.conditionAdded() == .record { core.conditionPolicy = newValue }
      }
    }
  }

  /// Adds something that must hold before the operation executes.
  ///
  /// Conditions are evaluated when the dependencies have finished, all at once unless the
  /// ``conditionPolicy`` says otherwise.
  ///
  /// - Parameter condition: Retained until the operation finished.
  /// - Precondition: Not yet enqueued or started, unless cancelled; then it is recorded and never
  ///   evaluated.
  public final func addCondition(_ condition: any OperationCondition) {
    let breakers = condition.breakers
    attach(calling: "addCondition(_:)") { core in
      // As for observers: a literal costs a third of what the first `append` does (callgrind).
      if core.conditions.isEmpty {
        core.conditions = [condition]
      } else {
        core.conditions.append(condition)
      }
      if !breakers.isEmpty { core.hasBreakers = true }
    }
    for breaker in breakers { addObserver(breaker) }
  }

  /// Calls a closure when the operation has ended, or immediately if it has ended already.
  ///
  /// The closure is an observer: it is called once, without a lock held, before dependents start.
  /// The closure of a ``ResultOperation`` gets the operation with its type, and so its result.
  ///
  /// - Parameter body: The closure. It gets this operation, so it need not capture it, and its
  ///   outcome.
  /// - Returns: The means to remove the closure.
  @discardableResult
  public func onFinish(
    _ body: @escaping @Sendable (AdvancedOperation, OperationOutcome) -> Void
  ) -> OperationObservation { addObserver(BlockObserver(didFinish: body)) }

  final func attach(calling call: String, _ record: (inout AdvancedCore) -> Void) {
    let action = withCore { core in
      let action = core.machine.conditionAdded()
      if action == .record { record(&core) }
      return action
    }
    switch action {
    case .record: return
    case .reject(let mistake): trap(mistake.sentence(about: self, calling: call))
    }
  }

  // MARK: Texts

  /// The description, and what the operation waits for.
  open override var debugDescription: String {
    textOfWaits.map { "\(description): \($0)" } ?? description
  }

  /// The name, or the type, and the state, or the outcome once that is decided.
  open override var description: String {
    let text = outcome?.kind.rawValue ?? (isCancelled ? "cancelled, " : "") + "\(state)"
    return "\(label) (\(text)\(isFromJournal ? ", from its journal" : ""))"
  }
}

extension OperationStateMachine.Mistake {
  /// What happened, where, and how to avoid it.
  ///
  /// - Parameters:
  ///   - operation: The operation that was misused.
  ///   - call: The method that was called too early or too late, if that is the mistake.
  /// - Returns: One or two sentences.
  func sentence(about operation: AdvancedOperation, calling call: String = "finish()") -> String {
    let name = "“\(operation.label)”"
    switch self {
    case .finishBeforeExecuting(let state):
      return "\(call) was called on operation \(name), which is \(state) and has not begun to "
        + "execute. Call it from execute() or later, or cancel the operation instead."
    case .conditionAddedLate(let state):
      return "\(call) was called on operation \(name), which is \(state) and was enqueued "
        + "or started before. Add all conditions and claims first."
    case .journalAttachedLate(let state):
      return "recorded(as:in:) was called on operation \(name), which is \(state) and was enqueued "
        + "or started before. Call it first."
    case .journalAttachedAgain:
      return "recorded(as:in:) was called on operation \(name), which is recorded as "
        + "“\(operation.journalKey ?? "")” already. Remove the second call."
    case .startedAgain(let state):
      return "start() was called on operation \(name), which is \(state). "
        + "An operation runs once; remove the second call."
    case .startedBeforeReady:
      return "start() was called on operation \(name), whose dependencies have not finished. "
        + "Wait for them, or add all of them to a queue."
    }
  }
}

extension AdvancedOperation {
  /// What a cancel does to an operation that is executing.
  ///
  /// A body that has to wind up says so, and is told:
  ///
  /// ```swift
  /// final class Upload: AdvancedOperation, @unchecked Sendable {
  ///   let connection = Connection()
  ///   override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }
  ///   override func execute() { connection.send(file) { self.finish() } }
  ///   override func cancelled(withErrors errors: [any Error]) { connection.abort() }
  /// }
  /// ```
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum CancellationPolicy: Sendable {
    /// It finishes at once; a later `finish` of its body is ignored.
    ///
    /// ``AdvancedOperation/cancelled(withErrors:)`` is called before its observers are notified of
    /// the end, to stop what goes on.
    case finishImmediately
    /// It finishes when its body returned or called `finish()`.
    case whenFinishIsCalled
  }

  /// How many of the conditions are evaluated.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum ConditionPolicy: Sendable {
    /// All at once, after the prerequisites of all of them; every failure is reported.
    case evaluateAll
    /// One after the other, in the order of attaching, up to the first that doesn't hold.
    ///
    /// A condition's prerequisite is made and runs when the turn of that condition comes. Behind
    /// the first that doesn't hold, no condition is evaluated and no prerequisite is made.
    case stopAtFirstFailure
  }
}
