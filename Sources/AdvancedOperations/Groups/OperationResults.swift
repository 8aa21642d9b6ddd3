import CoreOperations

/// Operations for the elements of a sequence, and their values as another sequence.
extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Returns a sequence of the values of operations, one operation for each element.
  ///
  /// ```swift
  /// let thumbnails = photos.mapOperations(maxConcurrentOperationCount: 4) { photo in
  ///   ResultOperation(name: photo.name) { try await photo.thumbnail() }
  /// }
  /// for try await thumbnail in thumbnails { await gallery.add(thumbnail) }
  /// ```
  ///
  /// The iteration takes elements from this sequence as long as there are fewer operations than the limit whose
  /// values haven't been taken. So a slow consumer slows this sequence down, and memory is bounded. If
  /// the values are in order, an operation that takes long also delays the operations behind it, as soon as
  /// the limit is reached. Predecessors of an operation that aren't in a queue run with it.
  ///
  /// The first error ends the iteration: the failure of an operation, or an error of this sequence. No other
  /// element is taken, and the other operations are cancelled with the error as the reason. The iteration
  /// returns the remaining values before the error. It throws the error after all running bodies have ended
  /// and this sequence has returned. A skipped operation has no value and is left out. If the task that
  /// iterates is cancelled, the operations are cancelled too, and the iteration throws a `CancellationError`
  /// after all running bodies have ended. If the iterator is released earlier, for example because of a
  /// `break`, the operations are cancelled.
  ///
  /// The operations run in a separate queue.
  ///
  /// - Parameters:
  ///   - maxConcurrentOperationCount: The largest number of elements that were taken from this sequence
  ///     and whose values weren't taken from the returned sequence. As many operations may execute at the same
  ///     time.
  ///   - ordered: Whether the values are in the order of the elements; otherwise they are in the order in
  ///     which the operations end.
  ///   - environment: The environment of the operations. By default it is the environment of the operation
  ///     that iterates, or a new environment outside of any operation.
  ///   - make: A closure that returns a new operation for an element, which isn't in a queue yet. The closure
  ///     is called in a task, while no lock is held.
  /// - Returns: The sequence of the values. Each iteration takes the elements again.
  /// - Precondition: The limit is positive.
  public func mapOperations<Output: Sendable>(
    maxConcurrentOperationCount: Int,
    ordered: Bool = true,
    environment: OperationEnvironment? = nil,
    _ make: @escaping @Sendable (Element) -> ResultOperation<Output>
  ) -> OperationResults<Output> {
    if maxConcurrentOperationCount < 1 {
      trap(
        "mapOperations was called with the limit \(maxConcurrentOperationCount). Pass the number of "
          + "operations that may run at the same time, at least 1."
      )
    }
    return OperationResults(
      limit: maxConcurrentOperationCount,
      isOrdered: ordered,
      environment: environment
    ) { window in
      var elements = makeAsyncIterator()
      while await window.untilRoom(), let element = try await elements.next() {
        window.add(make(element))
      }
    }
  }
}

/// The values of operations that run for the elements of another sequence.
///
/// You get such a sequence from `mapOperations(maxConcurrentOperationCount:ordered:environment:_:)`.
public struct OperationResults<Output: Sendable>: AsyncSequence, Sendable {
  typealias Feed = @Sendable (OperationWindow<Output>) async throws -> Void

  let limit: Int
  let isOrdered: Bool
  let environment: OperationEnvironment?
  let feed: Feed

  /// Creates an iterator, which takes the first elements when you call its `next()`.
  public func makeAsyncIterator() -> Iterator { Iterator(results: self) }

  /// An iterator over the values.
  public struct Iterator: AsyncIteratorProtocol {
    let results: OperationResults
    private var owner: Owner?

    init(results: OperationResults) { self.results = results }

    /// Returns the next value, or nil after the last one.
    ///
    /// - Throws: The first error of an operation or of the sequence of the elements. The method throws the
    ///   error after all running bodies have ended. `CancellationError` if the task is cancelled first.
    ///   `OperationCycleError` if the body of an operation calls this method, and an operation of the
    ///   iteration waits for that operation.
    public mutating func next() async throws -> Output? {
      let owner = owner ?? Owner(window: OperationWindow(of: results))
      self.owner = owner
      return try await owner.window.next()
    }

    /// Stops the operations when no iterator is left.
    private final class Owner: Sendable {
      let window: OperationWindow<Output>

      init(window: OperationWindow<Output>) { self.window = window }
      deinit { window.stop(because: CancellationError()) }
    }
  }
}

/// The operations of an iteration whose values haven't been taken.
final class OperationWindow<Output: Sendable>: Sendable {
  private struct State {
    /// The values by their place; nil for an operation without a value.
    var values: [Int: Output?] = [:]
    /// The number of elements that were taken from the source.
    var pulledCount = 0
    /// The number of operations that have ended with a value or were skipped.
    var endedCount = 0
    /// The number of values that were taken by the consumer.
    var takenCount = 0
    var failure: (any Error)?
    /// A Boolean value that indicates whether all operations have ended, and no other will be added.
    var isOver = false
    var task: Task<Void, Never>?
    /// The source waits until there is room.
    var source: CheckedContinuation<Void, Never>?
    /// The consumer waits for the next value.
    var consumer: CheckedContinuation<Void, Never>?
  }

  /// The next event for the consumer.
  private enum Next {
    /// A value, or nil for an operation without a value.
    case value(Output?, source: CheckedContinuation<Void, Never>?)
    case end((any Error)?)
  }

  private let limit: Int
  private let isOrdered: Bool
  private let queue: ScopeQueue
  private let state = Locked(State())

  init(of results: OperationResults<Output>) {
    (limit, isOrdered) = (results.limit, results.isOrdered)
    queue = ScopeQueue(
      maxConcurrentOperationCount: limit,
      environment: results.environment ?? .ofCaller
    )
    let feed = results.feed
    let task = Task(executorPreference: queue.environment.bodyExecutor) {
      try? await self.queue.run { _ in
        do { try await feed(self) } catch {
          // Before the scope cancels its operations, whose failures would come first.
          self.stop(because: error)
          throw error
        }
      }
      self.finish()
    }
    let isStopped = state.withLock { state in
      if !state.isOver { state.task = task }
      return state.failure != nil
    }
    if isStopped { task.cancel() }
  }

  // MARK: The source

  /// Waits until the next element may be taken; returns false if no other element is needed.
  func untilRoom() async -> Bool {
    await wait(at: \.source) { [limit] state in
      state.failure != nil || state.pulledCount - state.takenCount < limit
    }
    return state.withLock { $0.failure == nil }
  }

  func add(_ operation: ResultOperation<Output>) {
    let number = state.withLock { state in
      state.pulledCount += 1
      return state.pulledCount - 1
    }
    operation.onFinish { operation, outcome in
      switch outcome {
      case .succeeded, .skipped: self.ended(number, with: try? operation.result?.get())
      case .failed(let failure), .cancelled(let failure):
        self.stop(because: failure.given(by: operation))
      }
    }
    // Predecessors that aren't in a queue run with the operation.
    queue.add(Workflow.claim(endingWith: operation))
  }

  private func ended(_ number: Int, with value: Output?) {
    state.withLock { state in
      state.values.updateValue(value, forKey: isOrdered ? number : state.endedCount)
      state.endedCount += 1
      return state.consumer.take()
    }?
    .resume()
  }

  /// Cancels the operations, unless an error has ended the iteration before.
  func stop(because error: any Error) {
    let isFirst = state.withLock { state in
      if state.failure != nil || state.isOver { return false }
      state.failure = error
      return true
    }
    guard isFirst else { return }
    queue.stop(reason: error)
    let (task, source) = state.withLock { ($0.task, $0.source.take()) }
    task?.cancel()
    source?.resume()
  }

  private func finish() {
    let (task, consumer) = state.withLock { state in
      state.isOver = true
      return (state.task.take(), state.consumer.take())
    }
    withExtendedLifetime(task) {}
    consumer?.resume()
  }

  // MARK: The consumer

  func next() async throws -> Output? {
    // An operation that runs this code can't end before the operations do.
    let token = try OwnWaits.begin(for: .queue(queue))
    defer { OwnWaits.end(token) }
    return try await withTaskCancellationHandler {
      while true {
        switch state.withLock({ Self.takeNext(&$0) }) {
        case .value(let value, let source):
          source?.resume()
          if let value { return value }
        case .end(let error):
          if let error { throw error }
          return nil
        case nil: await wait(at: \.consumer) { Self.hasNews($0) }
        }
      }
    } onCancel: {
      stop(because: CancellationError())
    }
  }

  private static func hasNews(_ state: State) -> Bool {
    state.isOver || state.values[state.takenCount] != nil
  }

  private static func takeNext(_ state: inout State) -> Next? {
    if let value = state.values.removeValue(forKey: state.takenCount) {
      state.takenCount += 1
      return .value(value, source: state.source.take())
    }
    return state.isOver ? .end(state.failure.take()) : nil
  }

  private func wait(
    at place: WritableKeyPath<State, CheckedContinuation<Void, Never>?>,
    unless isDue: (State) -> Bool
  ) async {
    await withCheckedContinuation { continuation in
      let isDue = state.withLock { state in
        if isDue(state) { return true }
        state[keyPath: place] = continuation
        return false
      }
      if isDue { continuation.resume() }
    }
  }
}
