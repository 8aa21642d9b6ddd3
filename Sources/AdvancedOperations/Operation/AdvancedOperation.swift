package import CoreOperations

/// An operation with conditions, observers, errors, and cancellation with reasons.
///
/// Override ``execute()`` and call ``finish()`` when the work is done, or use ``ResultOperation`` with an
/// async body. The operation passes through the states of ``State-swift.enum`` in order. When its
/// dependencies have finished, its conditions are evaluated. When they are satisfied and a slot and its
/// claims are available, the operation executes. When it finishes, observers are notified before dependents
/// start.
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
/// You can use all members from any thread, and from every callback. Hooks, conditions and observers are
/// never called with a lock held.
///
/// A subclass overrides ``execute()``, ``finished(withErrors:)``, ``cancelled(withErrors:)`` and
/// ``cancellationPolicy-swift.property``. States can't be overridden.
open class AdvancedOperation: Operation, @unchecked Sendable {
  // Sendable: `core` is accessed only with its lock held, and the override is responsible for
  // `cancellationPolicy`.

  /// The state of an operation; a separate flag indicates whether it is cancelled.
  public enum State: Int, Comparable, Sendable, CaseIterable {
    /// The operation is waiting for dependencies, or hasn't been enqueued.
    case pending
    /// The dependencies have finished and the conditions are being evaluated.
    case evaluatingConditions
    /// The operation is waiting for a slot, or for a claim.
    case ready
    /// The operation has started, and its end isn't decided.
    case executing
    /// The end is decided, and observers are being notified.
    ///
    /// In a group that never executed, observers are notified when the children have left.
    case finishing
    /// The operation has finished.
    case finished

    /// Returns whether the first state precedes the second.
    public static func < (a: State, b: State) -> Bool { a.rawValue < b.rawValue }
  }

  /// The part of the operation that runs children and waits for them; nil for most operations.
  final var childRunner: (any ChildRunner)? { unsafe runner }
  // The reference is to the operation itself, or to an object that it owns and that was set during
  // initialization.
  private final unowned(unsafe) var runner: (any ChildRunner)?
  /// A Boolean value that indicates whether the operation may run other operations and wait for them, other
  /// than with its own code.
  final var mayRunOthers: Bool { unsafe runner != nil }

  /// Sets the object that runs the operation's children, once, during initialization.
  final func run(childrenBy runner: any ChildRunner) { unsafe self.runner = runner }

  private let coreLock = Lock()
  // Not checked for overlapping accesses, because the lock isn't recursive.
  @exclusivity(unchecked) private final var core = AdvancedCore()

  /// Accesses the mutable state with the lock held.
  @inline(__always)
  final func withCore<Result: ~Copyable>(_ body: (inout AdvancedCore) -> Result) -> Result {
    coreLock.withLock { unsafe body(&core) }
  }

  // This is the only designated initializer. The initializer needs no arguments, so that subclasses needn't
  // call it explicitly.

  /// Creates an operation without conditions and observers.
  ///
  /// A subclass inherits this initializer, or calls it as `super.init()` or `super.init(name:)`. An
  /// initializer of a subclass that calls neither begins with `super.init()`. An `init()` of a subclass isn't
  /// an `override`.
  ///
  /// - Parameter name: The name of the operation in explanations, logs and errors; nil for the name of its
  ///   type.
  public init(name: String? = nil) {
    super.init()
    attachLayer()
    if let name { self.name = name }
  }

  // An observer may retain its own observation, and neither would be released otherwise.
  deinit { for observation in unsafe core.observers { observation.remove() } }

  /// The operation whose body or condition is running on this thread or in this task; nil outside of
  /// operations.
  public static var current: AdvancedOperation? { CurrentCode.operation as? AdvancedOperation }

  /// Returns the operation of this type whose body is running here.
  static func running() -> Self {
    guard let operation = current as? Self else {
      internalError("the body of a \(Self.self) ran outside of its operation")
    }
    return operation
  }

  // MARK: Hooks

  /// Does the work, and calls ``finish()`` or a similar method, here or later; the default implementation
  /// finishes immediately.
  ///
  /// This method is called once, while no lock is held, after observers were notified of the start. The
  /// calling thread is a worker, or the thread that called ``start()``. An operation that is cancelled before
  /// its start, or whose conditions aren't satisfied, finishes without a call of this method. If a cancel
  /// comes while observers are notified of the start, the body is called, and finds that ``isCancelled`` is
  /// true. If an observer of the start calls `finish()` or `skip(reason:)`, the operation has ended, and the
  /// body isn't called. Overrides need not call `super`.
  open func execute() { finish() }

  /// Called once when the outcome is decided, before observers are notified of the end.
  ///
  /// The hook usually runs on the thread whose call decided the outcome. If another thread is still notifying
  /// observers of an earlier event, that thread calls the hook afterwards. No lock is held, so the hook may
  /// call any method. It can't change the outcome. Overrides need not call `super`.
  ///
  /// - Parameter errors: The value of ``errors``, which doesn't change any more.
  open func finished(withErrors errors: [any Error]) {}

  /// Called once when the operation is cancelled after it has started, so that you can stop the work.
  ///
  /// With the ``cancellationPolicy`` ``CancellationPolicy/whenFinishIsCalled``, make the body call `finish()`
  /// soon. With ``CancellationPolicy/finishImmediately`` the end is already decided, and
  /// ``finished(withErrors:)`` follows. `execute()` may not have returned yet. If the cancel comes while
  /// observers are notified of the start, `execute()` may not have been called yet. No lock is held during
  /// the call, and observers were notified of the cancel before. Overrides need not call `super`.
  ///
  /// - Parameter errors: The value of ``errors`` at the time of the cancel.
  open func cancelled(withErrors errors: [any Error]) {}

  /// The effect of a cancel on the executing operation; ``CancellationPolicy/finishImmediately`` unless
  /// overridden.
  ///
  /// This property is read at each cancel, while no lock is held. Its value applies at the first cancel, if
  /// the operation is executing then. At a later cancel it is read and ignored. A later cancel only adds its
  /// reason to ``errors``. If the operation waits for its body after the first cancel, a later cancel doesn't
  /// make it finish immediately. An operation that is cancelled before it executes finishes without
  /// executing, under any policy. Operations with async bodies and groups have the policy
  /// ``CancellationPolicy/whenFinishIsCalled``.
  open var cancellationPolicy: CancellationPolicy { .finishImmediately }

  // The following members are overridden by subclasses of this module.

  /// Called before the hook at a cancel whose policy is to wait for the body.
  func stopBody() { childRunner?.stop(reason: cancellationReason) }
  /// The value of an operation whose value is `Void`, and which therefore needn't wait for its body; nil for
  /// other operations.
  var valueOfVoid: (any Sendable)? { nil }
  /// Releases the objects that the work needed.
  ///
  /// This method is called when the operation is idle, or when a simulation has abandoned the operation,
  /// which may be executing then.
  func releaseResources() {}

  // MARK: Operation

  /// Starts the operation manually; an operation in a queue is started by the queue.
  ///
  /// If the operation has no conditions, claims, journal and inputs, the method calls ``execute()`` on the
  /// calling thread, before it returns. (An *input* is an operation whose value the body gets, as with
  /// `then`.) If the operation was cancelled, it finishes on the calling thread.
  ///
  /// Otherwise the method returns immediately, and the package retains the operation until it has finished.
  /// The operation evaluates its conditions, acquires its claims, and runs on the executor of its
  /// ``environment``. The operation needs no slot, because it isn't in a queue of your program.
  ///
  /// If the operation has already finished, the method does nothing.
  ///
  /// - Precondition: The operation has finished, or it isn't in a queue and ``start()`` wasn't called for it
  ///   before. The dependencies of the operation have finished, unless the operation is cancelled.
  public final override func start() {
    if wasStartedByQueue {
      takeTurn()
    } else if !isFinished {
      startManually()
    }
  }

  /// Does nothing, because the work is in ``execute()``.
  public final override func main() {}

  /// Cancels the operation without a reason; see ``cancel(withError:)``.
  public final override func cancel() { cancel(reason: nil) }

  /// Cancels the operation with a reason.
  ///
  /// When this method returns, ``isCancelled`` is true, unless the end was already decided. In that case the
  /// call does nothing. An operation that isn't in a queue stays pending and finishes when it is enqueued or
  /// started. An operation that waits in a queue stops waiting and leaves without executing. For an executing
  /// operation, ``cancellationPolicy`` decides. The first cancel notifies observers. Later cancels only add
  /// their reason to ``errors``.
  ///
  /// - Parameter error: The reason, which is in ``errors`` and `cancellationReason` from then on.
  public final func cancel(withError error: any Error) {
    cancel(reason: OperationFailure.Element(origin: .cancel, error: error))
  }

  /// Whether the operation was cancelled before its end was decided.
  public final override var isCancelled: Bool { super.isCancelled }

  /// Whether the state is ``State-swift.enum/executing``, or ``State-swift.enum/finishing`` after the
  /// operation has started.
  public final override var isExecuting: Bool {
    let (state, hasStarted) = withCore { ($0.machine.state, $0.machine.hasStarted) }
    return state == .executing || state == .finishing && hasStarted
  }

  /// Whether the state is ``State-swift.enum/finished``.
  public final override var isFinished: Bool { withCore { $0.machine.state } == .finished }

  /// Whether the dependencies have finished and the conditions are satisfied; true from then on.
  public final override var isReady: Bool { state >= .ready || super.isReady }

  /// Always true, because the work may continue after ``start()`` has returned.
  public final override var isAsynchronous: Bool { true }

  /// Always true.
  public final override var isConcurrent: Bool { true }

  /// Makes this operation wait for another operation, which need not be in the same queue.
  ///
  /// A dependency that is added before the operation executes delays it. A later dependency is only recorded.
  /// Conditions that were already evaluated aren't evaluated again because of it. Overrides call `super`.
  ///
  /// - Parameter op: The dependency, which is retained as long as it is a dependency.
  /// - Complexity: O(1), amortized.
  open override func addDependency(_ op: Operation) {
    super.addDependency(op)
    dependencyAdded(op)
  }

  /// Blocks the thread until the operation has finished.
  ///
  /// - Precondition: The caller isn't a callback of this operation, because the operation would then wait for
  ///   itself.
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

  /// A Boolean value that indicates whether this thread is in a callback of the operation, at any depth.
  private var isDeliveredHere: Bool {
    var operation = CallContext.current.notified.operation
    while let inner = operation, inner !== self {
      operation = inner.withCore { $0.delivery.outer.operation }
    }
    return operation != nil
  }

  // MARK: Attaching

  /// The policy that determines which conditions are evaluated.
  ///
  /// Changes after the operation was enqueued are ignored.
  public final var conditionPolicy: ConditionPolicy {
    get { withCore { $0.conditionPolicy } }
    set {
      withCore { core in
        if core.machine.conditionAdded() == .record { core.conditionPolicy = newValue }
      }
    }
  }

  /// Adds a condition that must be satisfied before the operation executes.
  ///
  /// Conditions are evaluated when the dependencies have finished. All of them are evaluated at the same time
  /// unless the ``conditionPolicy`` is ``ConditionPolicy/stopAtFirstFailure``. The condition of a cancelled
  /// operation is recorded and never evaluated.
  ///
  /// - Parameter condition: The condition, which is retained until the operation has finished.
  /// - Precondition: The operation hasn't been enqueued or started, unless it is cancelled.
  public final func addCondition(_ condition: any OperationCondition) {
    let breakers = condition.breakers
    let isPatient = condition.mayWait
    attach(calling: "addCondition(_:)") { core in
      // As for observers, a literal costs a third of the first `append` (callgrind).
      if core.conditions.isEmpty {
        core.conditions = [condition]
      } else {
        core.conditions.append(condition)
      }
      if !breakers.isEmpty { core.hasBreakers = true }
      if isPatient { core.hasPatients = true }
    }
    for breaker in breakers {
      addObserver(breaker)
      if breaker.measuresTime { recordTimes() }
    }
  }

  /// Calls a closure when the operation has ended, or immediately if it has ended already.
  ///
  /// The closure is an observer, which is called once, while no lock is held, before dependents start. The
  /// closure of a ``ResultOperation`` receives the operation with its type, and so its result.
  ///
  /// - Parameter body: A closure that receives this operation and its outcome, so it need not capture the
  ///   operation.
  /// - Returns: The observation, with which you can remove the closure.
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

  /// The description, and the reasons why the operation waits.
  open override var debugDescription: String {
    textOfWaits.map { "\(description): \($0)" } ?? description
  }

  /// The name or the type, and the state, or the outcome once it is decided.
  open override var description: String {
    let text = outcome?.kind.rawValue ?? (isCancelled ? "cancelled, " : "") + "\(state)"
    return "\(label) (\(text)\(isFromJournal ? ", from its journal" : ""))"
  }
}

extension OperationStateMachine.Mistake {
  /// Describes the mistake and how to avoid it.
  ///
  /// - Parameters:
  ///   - operation: The operation that was misused.
  ///   - call: The method that was called too early or too late, if the mistake is such a call.
  /// - Returns: A text of one or two sentences.
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
  /// The effect of a cancel on an operation that is executing.
  ///
  /// A body that has to clean up has the policy `whenFinishIsCalled`, and is notified of the cancel:
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
    /// The operation finishes immediately, and a later `finish` of its body is ignored.
    ///
    /// ``AdvancedOperation/cancelled(withErrors:)`` is called before observers are notified of the end, so
    /// that you can stop the work.
    case finishImmediately
    /// The operation finishes when its body has returned or called `finish()`.
    case whenFinishIsCalled
  }

  /// The policy that determines which conditions are evaluated.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum ConditionPolicy: Sendable {
    /// The conditions are evaluated at the same time, after the prerequisites of all of them, and every
    /// failure is reported.
    case evaluateAll
    /// Conditions are evaluated one after the other, in the order of attaching, up to the first that isn't
    /// satisfied.
    ///
    /// A condition's prerequisite is created and runs right before that condition is evaluated. After the
    /// first condition that isn't satisfied, no condition is evaluated and no prerequisite is created.
    case stopAtFirstFailure
  }
}
