import CoreOperations

/// An operation with an async body that gives a value.
///
/// ```swift
/// let download = ResultOperation(name: "download") { try await feed.download() }
/// let parse = download.then(name: "parse") { data in try Feed(data).events }
/// queue.addOperations([download, parse])
/// let events = try await parse.value
/// ```
///
/// A cancel cancels the task of the body; the operation finishes when the body has ended. A value
/// that the body still returns then is dropped.
///
/// The body may begin on the worker that starts the operation, as `execute()` does. On Linux it
/// goes on in the same pool of threads when it has suspended, and so do its child tasks: one that
/// blocks its thread makes room for others, and code that blocks the threads of the standard
/// library stops no body. That holds for queues with an executor or an underlying queue of their
/// own as well, unless the executor of the ``OperationEnvironment`` is a `TaskExecutor` too, which
/// gets the body from its beginning on. On Apple's systems a body runs on the standard library's
/// pool, and mustn't block there. What is isolated to an actor runs where the actor does.
///
/// An operation that was created in a task runs its body with the task-locals and the priority of
/// that task: logging contexts and their like go along, also to conditions that have to be waited
/// for. (They are those of the moment of creation. One that was created outside of any task stores
/// nothing for this.)
///
/// A subclass passes its body to the initialiser; ``execute()`` is the operation's own. It may
/// override ``cancellationPolicy`` and ``AdvancedOperation/finished(withErrors:)``.
open class ResultOperation<Output: Sendable>: AdvancedOperation, @unchecked Sendable {
  // Sendable: the operation's lock guards `work` and `body`.

  /// The same object as in the core.
  private final let work: ResultWork
  private var body: (@Sendable () async throws -> Output)?

  /// Creates an operation.
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - retry: Whether and when the body is run again after it threw; nil for never. Between the
  ///     attempts the operation keeps its slot and its claims, unless the policy is
  ///     ``RetryPolicy/releasingSlot()``. A failure of what the body has produced repeats nothing:
  ///     that has a policy of its own.
  ///   - body: Runs in a task of its own; what it throws is an error of the operation. Released
  ///     when the operation finished.
  public init(
    name: String? = nil,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable () async throws -> Output
  ) {
    work = ResultWork(retry: retry, captured: .capture())
    self.body = body
    super.init()
    withCore { $0.work = work }
    if let name { self.name = name }
  }

  /// Creates an operation that gets the values of others.
  ///
  /// It depends on them.
  ///
  /// - When one of them has failed or was cancelled, this one fails with that as an inherited error.
  ///   It doesn't execute, and doesn't wait for the others, which aren't cancelled.
  /// - When one was skipped and none has failed, this one is skipped. A failure wins, so this is
  ///   decided when all of them have ended.
  ///
  /// ```swift
  /// let map = ResultOperation(name: "map", after: events, stations) { events, stations in
  ///   draw(events, stations)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - first: Gives the first value.
  ///   - inputs: Give the others.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Gets the values in this order.
  public convenience init<First: Sendable, each Input: Sendable>(
    name: String? = nil,
    after first: ResultOperation<First>,
    _ inputs: repeat ResultOperation<each Input>,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable (First, repeat each Input) async throws -> Output
  ) {
    // A convenience initialiser, because a designated one with a parameter pack crashes the
    // compiler (6.3.1) in subclasses of other modules.
    var predecessors: [AdvancedOperation] = [first]
    // One that gives several values fails once.
    for input in repeat each inputs {
      if !predecessors.contains(input) { predecessors.append(input) }
    }
    let others = (repeat each inputs)
    self.init(name: name, retry: retry) {
      try await body(first.valueForSuccessor(), repeat (each others).valueForSuccessor())
    }
    receive(from: predecessors)
  }

  deinit {
    // Of a chain that never ran, each holds the one before, also as what it gets a value from.
    if hasInputs {
      FlatRelease.release(withWork { Inputs(body: takeBody(), extra: $0.takeExtra()) })
    }
    // Not what a subclass overrides: what it stores is gone by now.
    releaseWork()
  }

  /// What holds the operations that give values.
  private struct Inputs: Sendable {
    let body: (@Sendable () async throws -> Output)?
    let extra: ResultWork.ResultExtra?
  }

  /// Makes an operation that gets this one's value.
  ///
  /// The new operation depends on this one, and is in no queue yet. When this one fails or is
  /// cancelled, it fails with that as an inherited error, whatever else it depends on; when this one
  /// is skipped, so is it.
  ///
  /// - Parameters:
  ///   - name: What the new operation is called.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Gets the value.
  /// - Returns: The new operation.
  public final func then<Next: Sendable>(
    name: String? = nil,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable (Output) async throws -> Next
  ) -> ResultOperation<Next> {
    ResultOperation<Next>(name: name, after: self, retry: retry, body: body)
  }

  // MARK: The value

  /// How the operation ended; nil until that is decided.
  ///
  /// Observers of did-finish, and dependents, find it decided. That of a skipped operation is a
  /// failure with one element, of the origin ``OperationFailure/Origin/skipped(reason:)``.
  public final var result: Result<Output, OperationFailure>? {
    let (outcome, output) = withCore { ($0.machine.outcome, work.output) }
    switch outcome {
    case nil: return nil
    case .succeeded:
      // In two steps: an output may be an optional itself.
      guard let output, let value = output as? Output else { return nil }
      return .success(value)
    case .failed(let failure), .cancelled(let failure): return .failure(failure.given(by: self))
    case .skipped(let reason):
      let skipped = OperationFailure(elements: [
        .init(origin: .skipped(reason: reason), error: OperationSkipped(reason: reason))
      ])
      return .failure(skipped.given(by: self))
    }
  }

  /// The value, as soon as the operation has ended; the wait blocks no thread.
  ///
  /// It doesn't start the operation: it waits for ever for one that is never added to a queue or
  /// started. Any number of tasks can wait for it, and it can be read again later. Cancelling the
  /// waiting task ends the wait, and the operation continues.
  ///
  /// It doesn't add the operation to a queue: the value of an operation that isn't added, or whose
  /// predecessors aren't, is waited for until the task is cancelled.
  /// `try await queue.run(operation)` adds all of them and gives the value.
  ///
  /// - Throws: The ``OperationFailure`` when the operation failed, was cancelled, or was skipped
  ///   (one element, with the origin ``OperationFailure/Origin/skipped(reason:)``);
  ///   `CancellationError` when the waiting task is cancelled first, and then the operation goes
  ///   on; `OperationCycleError` when the waiting task is the body of an operation that this one
  ///   waits for.
  public final var value: Output {
    get async throws {
      try await untilFinished()
      return try finishedValue()
    }
  }

  /// Calls a closure when the operation has ended, or immediately if it has ended already.
  ///
  /// ```swift
  /// download.onFinish { download, _ in
  ///   switch download.result {
  ///   case .success(let text): log("got \(text)")
  ///   case .failure(let failure): log("failed: \(failure.summary())")
  ///   case nil: break
  ///   }
  /// }
  /// ```
  ///
  /// - Parameter body: The closure, which is called as that of
  ///   ``AdvancedOperation/onFinish(_:)`` is. It gets this operation, whose ``result`` is decided,
  ///   and its outcome.
  /// - Returns: The means to remove the closure.
  @discardableResult
  public final override func onFinish(
    _ body: @escaping @Sendable (ResultOperation<Output>, OperationOutcome) -> Void
  ) -> OperationObservation {
    // An override, not an overload: with two methods of the name, a closure would be ambiguous.
    super.onFinish { operation, outcome in
      guard let operation = operation as? ResultOperation<Output> else {
        trap("an observer of a \(ResultOperation<Output>.self) got \(operation)")
      }
      body(operation, outcome)
    }
  }

  /// The value of an operation that has finished.
  final func finishedValue() throws -> Output {
    guard let result else { trap("operation “\(label)” finished without a result") }
    return try result.get()
  }

  final func valueForSuccessor() throws -> Output {
    // It was removed from the dependencies when its outcome was decided and not yet told.
    guard let result else { throw RemovedDependency() }
    return try result.get()
  }

  // MARK: Running

  /// Runs the body in a task.
  public final override func execute() {
    let environment = environment
    let interceptors = environment.interceptors
    let now = environment.clock.nanoseconds
    runTask(withWork { $0.bodyBegins(at: now) }, in: environment) { task in
      withWork { $0.task = task }
      if isCancelled { task.cancel() }
    } _: {
      // What makes operations has no body of its own: theirs are intercepted.
      await self.run(inside: interceptors.isEmpty || self.childRunner == nil ? interceptors : [])
    }
  }

  /// Changes what the operation has besides its core, under the same lock.
  ///
  /// Inlined, because in a generic class the types of the result would be looked up at run time: 1,900
  /// instructions per operation (callgrind).
  @inline(__always)
  final func withWork<Result: ~Copyable>(_ body: (ResultWork) -> Result) -> Result {
    withCore { _ in body(work) }
  }

  /// Takes the body out; with the lock held.
  ///
  /// Not with `Optional.take()`, which looks up its type at run time, 350 instructions (callgrind).
  private func takeBody() -> (@Sendable () async throws -> Output)? {
    let body = body
    self.body = nil
    return body
  }

  /// ``AdvancedOperation/CancellationPolicy/whenFinishIsCalled``, unless it is overridden.
  ///
  /// A cancel cancels the task of the body, and the operation finishes when the body has ended.
  /// A subclass that returns ``AdvancedOperation/CancellationPolicy/finishImmediately`` finishes at
  /// the cancel: dependents may start while the body still goes on. Slot and claims are kept until
  /// it ends.
  open override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

  private func run(inside interceptors: [QueueAttachment<any OperationInterceptor>]) async {
    var body: (@Sendable () async throws -> Output)?
    let extra = withWork { work in
      body = self.body
      return work.extra
    }
    // The operation keeps it until it is idle.
    guard let body else { return finish(withElements: []) }
    do {
      let output =
        if let retry = extra?.retry {
          try await attempts(retry) { number, limit in
            await attempt(until: limit) {
              try await self.run(body, attempt: number, inside: interceptors)
            }
          }
        } else if interceptors.isEmpty {
          try await body()
        } else {
          try await run(body, attempt: 1, inside: interceptors)
        }
      // What comes after a cancel may be a part of the value.
      if let journal = extra?.journal, !isOver { try await journal.record(output, of: self) }
      // One that is over has let go of everything, and drops what comes late.
      withCore { if !$0.machine.isEndDecided { work.output = output } }
      finish(withElements: [])
    } catch let failure as BodyFailure {
      finish(withElements: failure.elements)
    } catch {
      finish(withElements: [.init(origin: .body, error: error)])
    }
  }

  override func stopBody() {
    abandonAttempt()
    let task = withWork { $0.task }
    task?.cancel()
    super.stopBody()
  }

  override var valueOfVoid: (any Sendable)? { () as? Output }

  override func releaseResources() { releaseWork() }

  private func releaseWork() {
    var body: (@Sendable () async throws -> Output)?
    let means = withCore { core in
      body = takeBody()
      return work.takeMeans(keepsOutput: core.machine.outcome?.isSuccess == true)
    }
    means.captured?.discard()
    // Released here, without the lock.
    _ = consume body
  }
}

/// What went wrong in a body that knows more of it than one error.
struct BodyFailure: Error {
  let elements: [OperationFailure.Element]
  /// Those of them about which a retry policy is asked: not those of what an attempt has produced.
  let own: [OperationFailure.Element]

  init(elements: [OperationFailure.Element]) { self.init(own: elements) }

  init(own: [OperationFailure.Element], produced: [OperationFailure.Element] = []) {
    elements = own + produced
    self.own = own
  }
}

/// The value of an operation is needed that is no dependency any more.
struct RemovedDependency: Error, InheritedFailure, CustomStringConvertible {
  var failure: OperationFailure { OperationFailure(elements: []) }
  var description: String { "It was removed from the dependencies, and its value is needed." }
}

/// `finish()` was called before the body returned a value.
struct FinishedWithoutValue: Error, CustomStringConvertible {
  var description: String { "finish() was called before the operation had its value." }
}
