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
/// gets the body from its beginning on. On other systems a body goes on in the pool of the standard
/// library, and shouldn't block there. What is isolated to an actor runs where the actor does.
///
/// An operation that was created in a task runs its body with the task-locals and the priority of
/// that task: logging contexts and their like go along, also to conditions that have to be waited
/// for. (They are those of the moment of creation. One that was created outside of any task stores
/// nothing for this.)
open class ResultOperation<Output: Sendable>: AdvancedOperation, @unchecked Sendable {
  // Sendable: `work` has a lock, which also guards `body`.

  private let work: Locked<ResultWork>
  // Beside the lock and not in it: the type of a lock around it isn't known before it runs, and
  // each access looked up what it is made of, 25,000 instructions per operation (callgrind).
  private var body: (@Sendable () async throws -> Output)?

  /// Creates an operation.
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - retry: Whether and when the body is run again after it threw; nil for never. Between the
  ///     attempts the operation keeps its slot and its claims.
  ///   - body: Runs in a task of its own; what it throws is an error of the operation. Released
  ///     when the operation finished.
  public init(
    name: String? = nil,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable () async throws -> Output
  ) {
    work = Locked(ResultWork(.init(retry: retry), captured: .capture()))
    self.body = body
    super.init()
    if let name { self.name = name }
  }

  /// Creates an operation that gets the values of others.
  ///
  /// It depends on them. When one of them failed or was cancelled, this one fails with that as an
  /// inherited error, without executing; when one was skipped, this one is skipped.
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
    // With the lock, and with the policy that is there: a subclass may override the designated
    // initialiser, choose another policy, and let others know of the operation.
    work.withLock { $0.rare = .init(retry: $0.rare?.retry, predecessors: predecessors) }
    for predecessor in predecessors { addDependency(predecessor) }
  }

  deinit {
    // Of a chain that never ran, each holds the one before, also as what it gets a value from.
    if hasInputs {
      FlatRelease.release(work.withLock { Inputs(body: takeBody(), rare: $0.rare.take()) })
    }
    releaseResources()
  }

  /// What holds the operations that give values.
  private struct Inputs: Sendable {
    let body: (@Sendable () async throws -> Output)?
    let rare: ResultWork.Rare?
  }

  /// Makes an operation that gets this one's value.
  ///
  /// The new operation depends on this one, and is in no queue yet. When this one fails or is
  /// cancelled, it fails with that as an inherited error; when this one is skipped, so is it.
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

  /// How the operation ended; there before did-finish is told, and nil until then.
  public final var result: Result<Output, OperationFailure>? {
    let (isDecided, failure, output) = work.withLock { ($0.isDecided, $0.failure, $0.output) }
    guard isDecided else { return nil }
    if let failure { return .failure(failure) }
    // In two steps: an output may be an optional itself.
    guard let output, let value = output as? Output else { return nil }
    return .success(value)
  }

  /// The value, waited for without blocking a thread.
  ///
  /// It doesn't add the operation to a queue: the value of an operation that isn't added, or whose
  /// predecessors aren't, is waited for until the task is cancelled. `try await queue.run(operation)`
  /// adds all of them and gives the value.
  ///
  /// - Throws: The ``OperationFailure`` when the operation failed, was cancelled, or was skipped
  ///   (one element, with the origin ``OperationFailure/Origin/skipped(reason:)``);
  ///   `CancellationError` when the waiting task is cancelled first, and then the operation goes
  ///   on; `OperationCycleError` when the waiting task is the body of an operation that this one
  ///   waits for.
  public final var value: Output {
    get async throws { try await value(cancellingOperation: false) }
  }

  /// The value; see ``value``.
  ///
  /// ```swift
  /// let events = try await parse.value(cancellingOperation: true)
  /// ```
  ///
  /// Cancelling the waiting task cancels this operation and no other one: predecessors that are in a
  /// queue go on. `try await queue.run(operation)` cancels those that it has added, too.
  ///
  /// - Parameter cancellingOperation: Whether cancelling the waiting task cancels the operation too.
  /// - Returns: The value.
  /// - Throws: As ``value`` does.
  public final func value(cancellingOperation: Bool) async throws -> Output {
    if cancellingOperation {
      try await withTaskCancellationHandler {
        try await untilFinished()
      } onCancel: {
        uninterrupted { self.cancel() }
      }
    } else {
      try await untilFinished()
    }
    return try finishedValue()
  }

  /// The value of an operation that has finished.
  final func finishedValue() throws -> Output {
    guard let result else { trap("operation “\(label)” finished without a result") }
    return try result.get()
  }

  private func valueForSuccessor() throws -> Output {
    // It was removed from the dependencies when its outcome was decided and not yet told.
    guard let result else { throw RemovedDependency() }
    return try result.get()
  }

  // MARK: Running

  /// Runs the body in a task.
  public final override func execute() {
    let environment = environment
    let interceptors = environment.interceptors
    let now = environment.clock.now.wholeNanoseconds
    let captured = work.withLock { work in
      work.begin = now
      return work.captured.take()
    }
    runTask(captured, in: environment) { task in
      work.withLock { $0.task = task }
      if isCancelled { task.cancel() }
    } _: {
      await self.run(inside: interceptors)
    }
  }

  /// Takes the body out; with the lock held.
  ///
  /// Not with `Optional.take()`, which looks up its type at run time, 350 instructions (callgrind).
  private func takeBody() -> (@Sendable () async throws -> Output)? {
    let body = body
    self.body = nil
    return body
  }

  /// That the operation finishes when its body has ended.
  open override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

  private func run(inside interceptors: [InterceptorEntry]) async {
    var body: (@Sendable () async throws -> Output)?
    let retry = work.withLock { work in
      body = takeBody()
      return work.rare?.retry
    }
    // It was released before.
    guard let body else { return finish() }
    do {
      let output =
        if let retry {
          try await attempts(body, retry, inside: interceptors)
        } else if interceptors.isEmpty {
          try await body()
        } else {
          try await run(body, attempt: 1, inside: interceptors)
        }
      // One that is over has let go of everything, and drops what comes late.
      work.withLock { if !$0.isDecided { $0.output = output } }
      finish()
    } catch let failure as AttemptsFailed {
      finish(withElements: failure.elements)
    } catch {
      finish(withElements: [.init(origin: .body, error: error)])
    }
  }

  /// Runs the body until it returns or the policy gives up.
  ///
  /// - Throws: ``AttemptsFailed``.
  private func attempts(
    _ body: @escaping @Sendable () async throws -> Output,
    _ policy: RetryPolicy,
    inside interceptors: [InterceptorEntry]
  ) async throws -> Output {
    let environment = environment
    let clock = environment.clock
    var run = RetryRun(policy, now: clock.now)
    while true {
      let failures: [OperationFailure.Element]
      let number = run.number
      var whole = body
      if !interceptors.isEmpty {
        whole = { try await self.run(body, attempt: number, inside: interceptors) }
      }
      switch await attempt(whole, until: run.limit(now: clock.now)) {
      case .success(let output): return output
      case .failure(let failed): failures = failed.elements
      }
      // That there is nothing to do is no failed attempt.
      if failures.contains(where: { $0.skipReasonOfBody != nil }) {
        throw AttemptsFailed(elements: failures.filter { $0.skipReasonOfBody != nil })
      }
      run.record(failures)
      let isGivenUp: Bool
      if isOver {
        isGivenUp = true
      } else {
        switch run.next(after: failures, now: clock.now, random: environment.random) {
        case .giveUp: isGivenUp = true
        case .attempt(let time):
          let wait = OperationPause(
            reason: .failedAttempt(run.number - 1, failures),
            begin: clock.now,
            end: time
          )
          withCore { $0.makeExtra().retry = wait }
          isGivenUp = await !pause(until: time, by: clock)
        }
      }
      if isGivenUp { throw AttemptsFailed(elements: run.elements) }
    }
  }

  /// Whether nothing will come of another attempt.
  private var isOver: Bool { isCancelled || outcome != nil }

  /// Waits between two attempts; returns whether there is to be another one.
  private func pause(until time: Duration, by clock: OperationClock) async -> Bool {
    // An end that is decided before this is seen here; one that is decided later ends the wait.
    work.withLock { $0.isPausing = true }
    defer { work.withLock { $0.isPausing = false } }
    if isOver { return false }
    return await (try? clock.sleep(until: time)) != nil && !isOver
  }

  private func attempt(
    _ body: @escaping @Sendable () async throws -> Output,
    until limit: RetryRun.Limit?
  ) async -> Result<Output, AttemptsFailed> {
    guard let limit else {
      do { return .success(try await body()) } catch {
        return .failure(AttemptsFailed(elements: [.init(origin: .body, error: error)]))
      }
    }
    // A task of its own, to be cancelled without the others.
    let environment = environment
    let task = Task(executorPreference: environment.bodyExecutor) {
      try await TaskOccupant.with(self) { try await body() }
    }
    let isLate = Locked(false)
    let timer = environment.clock.schedule(at: limit.time) {
      isLate.withLock { $0 = true }
      task.cancel()
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      do { return .success(try await task.value) } catch {
        var elements: [OperationFailure.Element] = []
        let isLate = isLate.withLock { $0 }
        if isLate { elements.append(limit.element) }
        // That is how a body answers to its cancel.
        if !(isLate && error is CancellationError) {
          elements.append(.init(origin: .body, error: error))
        }
        return .failure(AttemptsFailed(elements: elements))
      }
    } onCancel: {
      task.cancel()
    }
  }

  override func exchangeCaptured(_ new: CapturedTask?) -> CapturedTask? {
    work.withLock { work in
      guard self.body != nil else { return new }
      defer { work.captured = new }
      return work.captured
    }
  }

  override var bodyBegin: Duration? {
    let begin = work.withLock { $0.begin }
    return begin == ResultWork.notBegun ? nil : .nanoseconds(begin)
  }

  override func stopBody() { work.withLock { $0.task }?.cancel() }

  override var hasInputs: Bool { work.withLock { $0.rare?.predecessors.isEmpty == false } }

  override func verdictOfInputs() -> OperationStateMachine.Verdict? {
    let predecessors = work.withLock { $0.rare?.predecessors ?? [] }
    var elements: [OperationFailure.Element] = []
    var reason: String?
    for predecessor in predecessors {
      switch predecessor.outcome {
      case .succeeded: continue
      case .skipped(let why): reason = reason ?? why
      case .failed(let failure), .cancelled(let failure):
        elements.append(
          .init(origin: .dependency(predecessor.label), error: failure, isInherited: true)
        )
      case nil:
        elements.append(
          .init(
            origin: .dependency(predecessor.label),
            error: RemovedDependency(),
            isInherited: true
          )
        )
      }
    }
    if !elements.isEmpty { return .failed(elements) }
    return reason.map { .skipped(reason: $0) } ?? .satisfied
  }

  override var hearsOfOutcome: Bool { true }

  override func outcomeDecided(_ outcome: OperationOutcome) {
    let failure: OperationFailure?
    switch outcome {
    case .succeeded: failure = nil
    case .failed(let reasons), .cancelled(let reasons): failure = reasons
    case .skipped(let reason):
      failure = OperationFailure(elements: [
        .init(origin: .skipped(reason: reason), error: OperationSkipped(reason: reason))
      ])
    }
    let (dropped, pausing) = work.withLock { work -> ((any Sendable)?, Task<Void, Never>?) in
      work.isDecided = true
      work.failure = failure ?? (work.output == nil ? .finishedWithoutValue : nil)
      return (failure == nil ? nil : work.output.take(), work.isPausing ? work.task : nil)
    }
    withExtendedLifetime(dropped) {}
    // There is no attempt to wait for any more.
    pausing?.cancel()
  }

  override func releaseResources() {
    var body: (@Sendable () async throws -> Output)?
    let means = work.withLock { work in
      body = takeBody()
      return work.takeMeans()
    }
    means.captured?.discard()
    // Let go of here, without the lock.
    _ = consume body
  }
}

extension OperationFailure {
  fileprivate static var finishedWithoutValue: OperationFailure {
    OperationFailure(elements: [.init(origin: .body, error: FinishedWithoutValue())])
  }
}

/// What went wrong in all attempts, or in one.
private struct AttemptsFailed: Error {
  let elements: [OperationFailure.Element]
}

/// The value of an operation is needed that is no dependency any more.
struct RemovedDependency: Error, InheritedFailure, CustomStringConvertible {
  var failure: OperationFailure { OperationFailure(elements: []) }
  var description: String { "It was removed from the dependencies, and its value is needed." }
}

/// `finish()` was called from outside, before the body returned a value.
struct FinishedWithoutValue: Error, CustomStringConvertible {
  var description: String { "finish() was called before the body had returned a value." }
}
