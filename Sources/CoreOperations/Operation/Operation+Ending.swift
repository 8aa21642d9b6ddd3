extension Operation {
  /// Finishes and closes the operation, because the default `start()` found its end, or an override reported
  /// it.
  final func finishAndClose() {
    guard life.step({ $0.finished() }) == .close else { return }
    let isByWorker = ThreadContext.withWorker(running: self) { worker, _ in
      // The work is released before the operation closes, like work that has run, unless a `deinit` waits for
      // the end.
      worker.progress = .finished
      letGoOfWork()
      worker.closeFinished(self)
    }
    if isByWorker { return }
    close()
    letGoOfWork()
  }

  /// Finishes and closes the operation if an `isFinished` that may be overridden returns true.
  final func finishIfOverridden() {
    guard !isLayered, life.current.phase != .finished, isFinished else { return }
    finishAndClose()
  }

  /// Releases all dependents and waiters.
  ///
  /// The thread that finished the operation calls this once.
  ///
  /// - Parameter isHeldUntilIdle: A Boolean value that indicates whether slot and membership stay until the
  ///   layer releases them.
  final func close(isHeldUntilIdle: Bool = false) {
    var ending = OperationEnding()
    if isLayered {
      let isByWorker = ThreadContext.withWorker(running: self) { worker, scheduler in
        close(leaving: &ending, in: scheduler)
        if !isHeldUntilIdle, ending.isUnawaited {
          // Until `start()` has returned, the queue would only record the end.
          worker.progress = .closed
          ending.proceed(from: self, in: scheduler)
        } else {
          leaveQueue(scheduler, &ending, isHeldUntilIdle)
        }
      }
      if isByWorker { return }
    }
    // This is one step, so that a queue that is just adding the operation finds it closed, or is found here.
    let scheduler = withLinks { links in
      let scheduler = links.scheduler
      close(&links, leaving: &ending)
      return scheduler
    }
    closed(leaving: &ending, in: scheduler)
    leaveQueue(scheduler, &ending, isHeldUntilIdle)
  }

  private func leaveQueue(
    _ scheduler: Scheduler?,
    _ ending: inout OperationEnding,
    _ isHeldUntilIdle: Bool
  ) {
    scheduler?.finished(
      self,
      hasCompletion: ending.hasCompletion,
      isHeldUntilIdle: isHeldUntilIdle,
      releasing: ending.released
    )
    ending.proceed(from: self, in: scheduler)
  }

  /// Closes an operation on the worker of its queue that has run it, and performs the remaining work.
  ///
  /// - Parameters:
  ///   - ending: An empty value, which receives the remaining work.
  ///   - scheduler: The scheduler of the operation's queue.
  final func close(leaving ending: inout OperationEnding, in scheduler: Scheduler) {
    withLinks { close(&$0, leaving: &ending) }
    closed(leaving: &ending, in: scheduler)
  }

  /// Closes the links, so that no wait can begin from here on.
  private func close(_ links: inout OperationLinks, leaving ending: inout OperationEnding) {
    links.isClosed = true
    if !links.dependents.isEmpty || links.extra != nil { ending.take(from: &links) }
    // An operation of a layer may still have its place, and forgets its queue when it leaves that place.
    if !isLayered { links.leave() }
  }

  private func closed(leaving ending: inout OperationEnding, in scheduler: Scheduler?) {
    ending.sort(for: scheduler)
    if readiness.current.unfinished > 0 { unlinkDependencies() }
    // Observers are called before a waiter resumes, so that their work is done then.
    if wasObserved {
      ThreadContext.holding(self, by: .propertyObserver) { valuesMayHaveChanged() }
      valueObservers?.removeWatches()
    }
  }
}

extension OperationLife.Mistake {
  /// Describes the mistake and how to avoid it.
  func sentence(about operation: Operation) -> String {
    let name = "“\(operation.label)”"
    switch self {
    case .enqueuedTwice:
      return "Operation \(name) was added to a queue, but it is in one already. "
        + "An operation belongs to one queue, once; create a new operation for each run."
    case .enqueuedAfterStart:
      return "Operation \(name) was added to a queue after it had started or finished. "
        + "An operation runs once; create a new operation for each run."
    case .startedWhileQueued:
      return "start() was called on operation \(name), which is in a queue. "
        + "Its queue starts it; remove the call."
    case .startedWhileExecuting:
      return "start() was called on operation \(name), which is executing. "
        + "An operation runs once; remove the second call."
    case .startedBeforeReady:
      return "start() was called on operation \(name), which is not ready. "
        + "Wait until its dependencies have finished, or add all of them to a queue."
    }
  }
}

/// The remaining work after the end of an operation, which is empty for an operation without waiters.
///
/// A worker has one such value for all operations that it ends. Creating and destroying a value each time was
/// a tenth of the cost of an empty block (callgrind).
struct OperationEnding: ~Copyable {
  /// The dependents that the operation's own queue may start now.
  ///
  /// The queue is notified in one step.
  private(set) var released = FewObjects<Operation>()
  /// The dependents that still wait for other operations, and that only have to be released.
  private var waiting = FewObjects<Operation>()
  private var extra: EndingExtra?

  var hasCompletion: Bool { extra?.completion != nil }

  /// A Boolean value that indicates whether the remaining work needs the operation, which has to be kept
  /// alive until then.
  var needsOperation: Bool { extra.map { $0.waiters != nil || $0.completion != nil } ?? false }

  /// A Boolean value that indicates whether there is no remaining work, and no object to release.
  var isEmpty: Bool { released.isEmpty && waiting.isEmpty && extra == nil }

  /// A Boolean value that indicates whether neither the end nor the completion block has a waiter.
  var isUnawaited: Bool { released.isEmpty && extra == nil }

  /// The remaining work that few ends have.
  private final class EndingExtra {
    /// The dependents that other queues may start.
    var others = FewObjects<Operation>()
    var completion: (@Sendable () -> Void)?
    var waiters: WaitList<Operation>?
  }

  private mutating func makeExtra() -> EndingExtra {
    if let extra { return extra }
    let made = EndingExtra()
    extra = made
    return made
  }

  /// Takes dependents, waiters and the completion block out of the links of an operation.
  mutating func take(from links: inout OperationLinks) {
    if let extra = links.extra, extra.completionBlock != nil || extra.waiters.isInUse {
      let own = makeExtra()
      swap(&own.completion, &extra.completionBlock)
      own.waiters = extra.waiters
      extra.waiters = WaitList()
    }
    links.dependents.resolveAll(&released, waiting: &waiting)
  }

  /// Moves dependents of other queues out of the released dependents.
  mutating func sort(for scheduler: Scheduler?) {
    if released.isEmpty { return }
    // No lock is needed, because a ready operation was added to its queue before.
    let id = scheduler.map { ObjectIdentifier($0) }
    if let id, released.allSatisfy({ $0.isIn(id) }) { return }
    var own = FewObjects<Operation>()
    let extra = makeExtra()
    released.forEach { operation in
      let isOwn = id.map { operation.isIn($0) } ?? false
      if isOwn { own.append(operation) } else { extra.others.append(operation) }
    }
    released = own
  }

  /// Performs the remaining work once the operation's own queue is notified: other queues, waiters, and the
  /// completion block.
  ///
  /// - Parameters:
  ///   - operation: The operation that has ended, kept alive by the caller; may be nil unless
  ///     ``needsOperation``.
  ///   - scheduler: The scheduler of the operation's queue.
  mutating func proceed(from operation: Operation?, in scheduler: Scheduler?) {
    released.removeAll()
    waiting.removeAll()
    guard let extra = extra.take() else { return }
    extra.others.forEach { dependent in dependent.withLinks { $0.scheduler }?.offered(dependent) }
    guard extra.waiters != nil || extra.completion != nil else { return }
    guard let operation else { internalError("an operation was released before its waiters") }
    extra.waiters?.wakeAll(operation)
    // The thread that runs the completion block releases it.
    guard let completion = extra.completion.take().map({ RemovableClosure($0) }) else { return }
    if let scheduler {
      scheduler.completionIsDue(completion, of: operation)
    } else {
      DefaultExecutor.shared.enqueue { completion.take()?.call() }
    }
  }
}

extension DependentList {
  /// Notifies every dependent that this dependency is resolved.
  ///
  /// This method is called with the lock of the list held, which keeps the dependents alive until they are
  /// retained. A dependent in a queue can't leave the queue with an open dependency before it has unlinked
  /// itself, under this lock. The dependent is retained before it is notified, because other threads may
  /// start, finish and release it immediately.
  ///
  /// A dependent that waits for other operations, or that isn't in a queue, is notified and not used
  /// afterwards, so it isn't retained. A dependent that isn't in a queue may be in deallocation, and waiting
  /// for this lock to unlink itself.
  ///
  /// - Parameters:
  ///   - ready: Receives the dependents that are ready now.
  ///   - waiting: Receives the dependents that still wait for others, to be released without the held lock.
  /// - Complexity: O(n), n the number of dependents.
  fileprivate mutating func resolveAll(
    _ ready: inout FewObjects<Operation>,
    waiting: inout FewObjects<Operation>
  ) {
    unsafe takeAll { dependent in
      let isOver = unsafe dependent._withUnsafeGuaranteedRef {
        $0.readiness.step { $0.dependencyResolvedUnnoticed() }
      }
      if isOver { return }
      let retained = unsafe dependent.retain()
      let progress = unsafe retained._withUnsafeGuaranteedRef {
        $0.readiness.step { $0.dependencyResolved() }
      }
      if progress == .none {
        unsafe waiting.append(retained: retained)
      } else {
        unsafe ready.append(retained: retained)
      }
    }
  }
}

extension Operation {
  /// Runs a closure when the operation has finished, or immediately if it has finished already.
  ///
  /// - Parameter body: A closure that receives the operation, which its queue may have released by then.
  package final func whenFinished(_ body: @escaping @Sendable (Operation) -> Void) {
    if !register(.closure(body)) { body(self) }
  }

  /// The method that has returned without the end of the operation, which its class has to report.
  ///
  /// The value is nil while the method is running, and for an operation that reports its end by returning.
  package final var callWithoutEnd: String? {
    switch life.current.phase {
    case .started where !isLayered: scheduler?.hasReturnedFromStart(self) == true ? "start()" : nil
    case .ended where !isFinished: "main()"
    case .created, .enqueued, .started, .executing, .ended, .finished: nil
    }
  }

  /// A Boolean value that indicates whether an override of ``isFinished`` returns true and has not reported
  /// it, so that dependents weren't notified.
  package final var hasUnreportedEnd: Bool { isFinished && life.current.phase < .ended }

  /// A Boolean value that indicates whether other operations depend on the operation, or wait for its end.
  package final var hasDependents: Bool {
    withLinks { !$0.dependents.isEmpty || $0.extra?.waiters.isEmpty == false }
  }
}

extension OperationQueue {
  /// Runs a closure once the queue is empty, or immediately if it is empty already.
  package final func whenEmpty(_ body: @escaping @Sendable () -> Void) {
    if !scheduler.waited(.closure({ _ in body() })) { body() }
  }

  /// A Boolean value that indicates whether neither operations nor barriers are left.
  package final var isIdle: Bool { scheduler.isIdle }

  /// Returns whether an operation is a member, and hasn't left the queue.
  package final func has(_ operation: Operation) -> Bool {
    operation.isIn(ObjectIdentifier(scheduler))
  }
}

/// A closure that is called when an operation has finished, unless it is removed before.
///
/// A watch is for code that needs the end of an operation only as long as another object exists. A removed
/// watch leaves no memory in an operation that lives longer.
package struct EndWatch: Sendable {
  private let closure: RemovableClosure<@Sendable (Operation) -> Void>
  /// The operation isn't retained, because an operation that never ends keeps its watches.
  private weak let operation: Operation?

  fileprivate init(of operation: Operation, _ body: @escaping @Sendable (Operation) -> Void) {
    self.operation = operation
    closure = RemovableClosure(body)
  }

  fileprivate func begin(_ operation: Operation) {
    if !operation.register(.removable(closure)) { closure.take()?.call(operation) }
  }

  /// Removes the closure; does nothing if it was called.
  ///
  /// - Complexity: O(1), amortized.
  package func remove() {
    if closure.take() != nil { operation?.withLinks { $0.extra?.waiters.waitCancelled() } }
  }
}

extension Operation {
  /// Runs a closure when the operation has finished, unless the watch is removed before, or immediately if it
  /// has finished already.
  ///
  /// - Parameter body: A closure that receives the operation, which its queue may have released by then.
  /// - Returns: The watch, which code removes when it doesn't need the end any more.
  package final func watchEnd(_ body: @escaping @Sendable (Operation) -> Void) -> EndWatch {
    let watch = EndWatch(of: self, body)
    watch.begin(self)
    return watch
  }
}
