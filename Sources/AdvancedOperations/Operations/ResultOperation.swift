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
open class ResultOperation<Output: Sendable>: AdvancedOperation, @unchecked Sendable {
  // Sendable: `work` has a lock.
  private struct Work {
    var body: (@Sendable () async throws -> Output)?
    var retry: RetryPolicy?
    var predecessors: [AdvancedOperation] = []
    var task: Task<Void, Never>?
    var output: Output?
    var result: Result<Output, OperationFailure>?
  }

  private let work: Locked<Work>

  /// Creates an operation.
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - retry: Whether and when the body is run again after it threw; nil for never. Between the
  ///     attempts the operation keeps its slot and its claims.
  ///   - body: Runs in a task of its own; what it throws is an error of the operation. Released when
  ///     the operation finished.
  public init(
    name: String? = nil,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable () async throws -> Output
  ) {
    work = Locked(Work(body: body, retry: retry))
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
  public init<First: Sendable, each Input: Sendable>(
    name: String? = nil,
    after first: ResultOperation<First>,
    _ inputs: repeat ResultOperation<each Input>,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable (First, repeat each Input) async throws -> Output
  ) {
    var predecessors: [AdvancedOperation] = [first]
    for input in repeat each inputs { predecessors.append(input) }
    let others = (repeat each inputs)
    work = Locked(
      Work(
        body: {
          try await body(first.valueForSuccessor(), repeat (each others).valueForSuccessor())
        },
        retry: retry,
        predecessors: predecessors
      )
    )
    super.init()
    if let name { self.name = name }
    for predecessor in predecessors { addDependency(predecessor) }
  }

  // While the dependencies are still held, which go one by one: releasing a long chain that never ran
  // would nest otherwise.
  deinit { releaseResources() }

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
  public final var result: Result<Output, OperationFailure>? { work.withLock { $0.result } }

  /// The value, waited for without blocking a thread.
  ///
  /// - Throws: The ``OperationFailure`` when the operation failed, was cancelled, or was skipped
  ///   (one element, with the origin ``OperationFailure/Origin/skipped(reason:)``);
  ///   `CancellationError` when the waiting task is cancelled first, and then the operation goes on.
  public final var value: Output {
    get async throws { try await value(cancellingOperation: false) }
  }

  /// The value; see ``value``.
  ///
  /// - Parameter cancellingOperation: Whether cancelling the waiting task cancels the operation too.
  /// - Returns: The value.
  /// - Throws: As ``value`` does.
  public final func value(cancellingOperation: Bool) async throws -> Output {
    try await withTaskCancellationHandler {
      try await AsyncWait().run { wait in
        self.afterFinished { wait.finish() }
        return true
      } unregister: { _ in
      }
    } onCancel: {
      if cancellingOperation { self.cancel() }
    }
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
  open override func execute() {
    let (body, retry) = work.withLock { work in
      let body = work.body
      work.body = nil
      return (body, work.retry)
    }
    guard let body else {
      finish()
      return
    }
    bodyBegan()
    let task = Task(executorPreference: environment.taskExecutor) {
      await Self.$taskCurrent.withValue(self) { await self.run(body, retry) }
      self.bodyEnded()
    }
    work.withLock { $0.task = task }
    if isCancelled { task.cancel() }
  }

  /// That the operation finishes when its body has ended.
  open override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

  private func run(
    _ body: @Sendable () async throws -> Output,
    _ retry: RetryPolicy?
  ) async {
    var failures: [OperationFailure.Element] = []
    while true {
      do {
        let output = try await body()
        work.withLock { $0.output = output }
        finish()
        return
      } catch {
        guard let retry else {
          finish(withElements: [.init(origin: .body, error: error)])
          return
        }
        failures.append(.init(origin: .attempt(failures.count + 1, .body), error: error))
        guard await waits(retry, after: failures.count, error) else {
          finish(withElements: failures)
          return
        }
      }
    }
  }

  /// Waits for the next attempt; false when there is to be none.
  private func waits(_ retry: RetryPolicy, after count: Int, _ error: any Error) async -> Bool {
    let environment = environment
    guard !isCancelled,
      let delay = retry.delay(after: count, error, random: environment.random)
    else { return false }
    do {
      try await environment.clock.sleep(until: environment.clock.now + delay)
      return !isCancelled
    } catch {
      return false
    }
  }

  override func stopBody() { work.withLock { $0.task }?.cancel() }

  override var hasInputs: Bool { work.withLock { !$0.predecessors.isEmpty } }

  override func verdictOfInputs() -> OperationStateMachine.Verdict? {
    let predecessors = work.withLock { $0.predecessors }
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

  override func outcomeDecided(_ outcome: OperationOutcome) {
    work.withLock { work in
      switch outcome {
      case .succeeded:
        guard let output = work.output else {
          work.result = .failure(
            OperationFailure(elements: [.init(origin: .body, error: FinishedWithoutValue())])
          )
          return
        }
        work.result = .success(output)
      case .failed(let failure), .cancelled(let failure): work.result = .failure(failure)
      case .skipped(let reason):
        work.result = .failure(
          OperationFailure(elements: [
            .init(origin: .skipped(reason: reason), error: OperationSkipped(reason: reason))
          ])
        )
      }
    }
  }

  override func releaseResources() {
    let old = work.withLock { work in
      let old = work
      work = Work(result: work.result)
      return old
    }
    withExtendedLifetime(old) {}
  }
}

/// An operation was skipped, so it has no value.
public struct OperationSkipped: Error, Hashable, CustomStringConvertible {
  /// Why there was nothing to do.
  public var reason: String
  /// Creates the error.
  public init(reason: String) { self.reason = reason }
  /// One sentence with the reason.
  public var description: String { "It was skipped: \(reason)." }
}

/// The value of an operation is needed that is no dependency any more.
struct RemovedDependency: Error, InheritedFailure, CustomStringConvertible {
  var description: String { "It was removed from the dependencies, and its value is needed." }
}

/// `finish()` was called from outside, before the body returned a value.
struct FinishedWithoutValue: Error, CustomStringConvertible {
  var description: String { "finish() was called before the body had returned a value." }
}
