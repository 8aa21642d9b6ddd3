import CoreOperations

/// An operation with an async body that returns a value.
///
/// ```swift
/// let download = ResultOperation(name: "download") { try await feed.download() }
/// let parse = download.then(name: "parse") { data in try Feed(data).events }
/// queue.addOperations([download, parse])
/// let events = try await parse.value
/// ```
///
/// A cancel cancels the task of the body, and the operation finishes when the body has ended. A value that
/// the body returns after the cancel is dropped.
///
/// The body may begin on the worker that starts the operation, as `execute()` does. On Linux, the body and
/// its child tasks run in the library's thread pool, including after suspensions. If a body blocks its thread
/// there, the pool adds a thread for other work. Code that blocks the threads of the standard library doesn't
/// stop a body.
///
/// Bodies run in this pool even if the queue has an executor or an underlying queue. The exception is an
/// ``OperationEnvironment`` whose executor is a `TaskExecutor`: this executor runs the body from its
/// beginning.
///
/// On Apple's systems, a body runs in the standard library's pool, and mustn't block a thread there. Code
/// that is isolated to an actor runs on the executor of the actor.
///
/// If the operation was created in a task, its body runs with the task-locals and the priority of that task
/// at the moment of creation. Asynchronous conditions see the same task-locals, so logging contexts reach
/// them as well. An operation that was created outside of a task stores nothing for this.
///
/// A subclass passes its body to the initializer, and can't override ``execute()``. It may override
/// ``cancellationPolicy`` and ``AdvancedOperation/finished(withErrors:)``.
open class ResultOperation<Output: Sendable>: AdvancedOperation, @unchecked Sendable {
  // Sendable: the operation's lock guards `work` and `body`.

  /// The same object as the one in the core.
  private final let work: ResultWork
  private var body: (@Sendable () async throws -> Output)?

  /// Creates an operation.
  ///
  /// - Parameters:
  ///   - name: The name of the operation.
  ///   - retry: The policy that decides whether and when the body is run again after it threw; nil for never.
  ///     Between the attempts the operation keeps its slot and its claims, unless the policy is
  ///     ``RetryPolicy/releasingSlot()``. If an operation that the body has produced fails, the body isn't
  ///     run again. Give the produced operation its own policy.
  ///   - body: The work, which runs in a separate task. If it throws an error, the operation fails with this
  ///     error. The closure is released when the operation has finished.
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

  /// Creates an operation whose body gets the values of other operations.
  ///
  /// The new operation depends on the others.
  ///
  /// - If one of them fails or is cancelled, the new operation fails with this failure as an inherited error.
  ///   It doesn't execute, and doesn't wait for the others, which aren't cancelled.
  /// - If one of them was skipped and none has failed, the new operation is skipped. A failure takes
  ///   precedence, so the new operation is skipped only when all of them have finished.
  ///
  /// ```swift
  /// let map = ResultOperation(name: "map", after: events, stations) { events, stations in
  ///   draw(events, stations)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the operation.
  ///   - first: The operation whose value is the first argument of the body.
  ///   - inputs: The operations whose values are the other arguments.
  ///   - retry: The policy that decides whether and when the body is run again after it threw; nil for never.
  ///   - body: The work, which gets the values in this order.
  public convenience init<First: Sendable, each Input: Sendable>(
    name: String? = nil,
    after first: ResultOperation<First>,
    _ inputs: repeat ResultOperation<each Input>,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable (First, repeat each Input) async throws -> Output
  ) {
    // A convenience initializer, because a designated initializer with a parameter pack crashes the compiler
    // (6.3.1) in subclasses of other modules.
    var predecessors: [AdvancedOperation] = [first]
    // An operation may be an input twice, but its failure is inherited only once.
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
    // In a chain that never ran, each operation retains the one before, both in its body and as an input. A
    // recursive release of a long chain would overflow the stack.
    if hasInputs {
      FlatRelease.release(withWork { Inputs(body: takeBody(), extra: $0.takeExtra()) })
    }
    // `releaseResources()` isn't called here: the stored properties of a subclass that overrides it are
    // already deallocated.
    releaseWork()
  }

  /// The objects that retain the operations whose values this one gets.
  private struct Inputs: Sendable {
    let body: (@Sendable () async throws -> Output)?
    let extra: ResultWork.ResultExtra?
  }

  /// Creates an operation whose body gets this operation's value.
  ///
  /// The new operation depends on this operation, and isn't in a queue yet. If this operation fails or is
  /// cancelled, the new operation fails as well, with the failure of this operation as an inherited error. It
  /// then doesn't wait for its other dependencies, unless it is recorded in a journal. If this operation is
  /// skipped, the new operation is skipped as well.
  ///
  /// - Parameters:
  ///   - name: The name of the new operation.
  ///   - retry: The policy that decides whether and when the body is run again after it threw; nil for never.
  ///   - body: The work, which gets the value.
  /// - Returns: The new operation.
  public final func then<Next: Sendable>(
    name: String? = nil,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable (Output) async throws -> Next
  ) -> ResultOperation<Next> {
    ResultOperation<Next>(name: name, after: self, retry: retry, body: body)
  }

  // MARK: The value

  /// The value or the failure of the operation; nil until its outcome is decided.
  ///
  /// The result is decided before did-finish observers are notified and before dependents start. The result
  /// of a skipped operation is a failure with one element, whose origin is
  /// ``OperationFailure/Origin/skipped(reason:)``.
  public final var result: Result<Output, OperationFailure>? {
    let (outcome, output) = withCore { ($0.machine.outcome, work.output) }
    switch outcome {
    case nil: return nil
    case .succeeded:
      // The cast has two steps, because the value may be an optional itself.
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

  /// The value of the operation, after a wait for its end.
  ///
  /// The wait doesn't block a thread.
  ///
  /// The property doesn't add the operation to a queue and doesn't start it. If the operation or one of its
  /// predecessors is never added or started, the wait ends only when the task is cancelled.
  /// `try await queue.run(operation)` adds all of them and returns the value.
  ///
  /// Any number of tasks can wait for the value, and it can be read again later. Cancelling the waiting task
  /// ends the wait, and the operation continues.
  ///
  /// - Throws: The ``OperationFailure`` if the operation failed, was cancelled, or was skipped. The failure
  ///   of a skipped operation has one element, with the origin ``OperationFailure/Origin/skipped(reason:)``.
  ///   `CancellationError` if the waiting task is cancelled first. `OperationCycleError` if the waiting task
  ///   is the body of an operation for which this operation waits.
  public final var value: Output {
    get async throws {
      try await untilFinished()
      return try finishedValue()
    }
  }

  /// Calls a closure when the operation has ended, or immediately if it has already ended.
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
  /// - Parameter body: The closure, which is called like the closure of ``AdvancedOperation/onFinish(_:)``.
  ///   It gets this operation, whose ``result`` is decided, and its outcome.
  /// - Returns: An observation, with which you can remove the closure.
  @discardableResult
  public final override func onFinish(
    _ body: @escaping @Sendable (ResultOperation<Output>, OperationOutcome) -> Void
  ) -> OperationObservation {
    // An override, not an overload: with two methods of the name, a closure would be ambiguous.
    super.onFinish { operation, outcome in
      guard let operation = operation as? ResultOperation<Output> else {
        internalError("an observer of a \(ResultOperation<Output>.self) received \(operation)")
      }
      body(operation, outcome)
    }
  }

  /// The value of an operation that has finished.
  final func finishedValue() throws -> Output {
    guard let result else { internalError("operation “\(label)” finished without a result") }
    return try result.get()
  }

  final func valueForSuccessor() throws -> Output {
    // The dependency was removed after its outcome was decided, and before its end was delivered.
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
      // An operation that runs other operations isn't intercepted: the interceptors run around the bodies of
      // these operations.
      await self.run(inside: interceptors.isEmpty || self.childRunner == nil ? interceptors : [])
    }
  }

  /// Changes the state outside of the core, under the lock of the core.
  ///
  /// Inlined, because in a generic class the types of the result would be looked up at run time: 1,900
  /// instructions per operation (callgrind).
  @inline(__always)
  final func withWork<Result: ~Copyable>(_ body: (ResultWork) -> Result) -> Result {
    withCore { _ in body(work) }
  }

  /// Takes the body out.
  ///
  /// Called with the lock held.
  ///
  /// `Optional.take()` would look up its type at run time: 350 instructions (callgrind).
  private func takeBody() -> (@Sendable () async throws -> Output)? {
    let body = body
    self.body = nil
    return body
  }

  /// ``AdvancedOperation/CancellationPolicy/whenFinishIsCalled``, unless it is overridden.
  ///
  /// A cancel cancels the task of the body, and the operation finishes when the body has ended. A subclass
  /// may return ``AdvancedOperation/CancellationPolicy/finishImmediately``. It then finishes at the cancel,
  /// and its dependents may start while the body is still running. The slot and the claims are kept until the
  /// body ends.
  open override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

  private func run(inside interceptors: [QueueAttachment<any OperationInterceptor>]) async {
    var body: (@Sendable () async throws -> Output)?
    let extra = withWork { work in
      body = self.body
      return work.extra
    }
    // The body is nil only if the operation is idle, because the operation keeps its body until then.
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
      // A body that returns after a cancel may return only a part of the value, so the value isn't recorded.
      if let journal = extra?.journal, !isOver { try await journal.record(output, of: self) }
      // An operation whose end is decided has released its objects, so a late value is dropped.
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
    // The body is released here, without the lock.
    _ = consume body
  }
}

/// The errors of a body that has more than one error, or errors with their own origins.
struct BodyFailure: Error {
  let elements: [OperationFailure.Element]
  /// The errors about which a retry policy decides.
  ///
  /// Errors of operations that an attempt has produced aren't among them.
  let own: [OperationFailure.Element]

  init(elements: [OperationFailure.Element]) { self.init(own: elements) }

  init(own: [OperationFailure.Element], produced: [OperationFailure.Element] = []) {
    elements = own + produced
    self.own = own
  }
}

/// The error of a body that needs the value of an operation which isn't a dependency any more.
struct RemovedDependency: Error, InheritedFailure, CustomStringConvertible {
  var failure: OperationFailure { OperationFailure(elements: []) }
  var description: String {
    "The operation was removed from the dependencies, but its value is needed. Don't remove it."
  }
}

/// The error of an operation whose `finish()` was called before the body returned a value.
struct FinishedWithoutValue: Error, CustomStringConvertible {
  var description: String { "finish() was called before the operation had its value." }
}
