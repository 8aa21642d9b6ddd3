extension Operation {
  /// Finishes and closes the operation: the default `start()` found its end, or an override said it.
  final func finishAndClose() {
    guard life.step({ $0.finished() }) == .close else { return }
    let isByWorker = ThreadContext.withWorker(running: self) { worker, _ in
      // Before it closes, like work that has run, unless a `deinit` waits for the end.
      worker.progress = .finished
      letGoOfWork()
      worker.closeFinished(self)
    }
    if isByWorker { return }
    close()
    letGoOfWork()
  }

  /// Finishes and closes if an `isFinished` says so that may be overridden.
  final func finishIfOverridden() {
    guard !isLayered, life.current.phase != .finished, isFinished else { return }
    finishAndClose()
  }

  /// Releases everything that waited for the end; once, by the thread that finished the operation.
  ///
  /// - Parameter isHeldUntilIdle: Whether slot and membership stay until the layer releases them.
  final func close(isHeldUntilIdle: Bool = false) {
    var ending = OperationEnding()
    if isLayered {
      let isByWorker = ThreadContext.withWorker(running: self) { worker, scheduler in
        close(leaving: &ending, in: scheduler)
        if !isHeldUntilIdle, ending.isUnawaited {
          // Until its `start()` has returned, the queue would only make a note of it.
          worker.progress = .closed
          ending.proceed(from: self, in: scheduler)
        } else {
          leaveQueue(scheduler, &ending, isHeldUntilIdle)
        }
      }
      if isByWorker { return }
    }
    // In one step: a queue that is just taking it in finds it closed, or is found here.
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

  /// Closes an operation on the worker of its queue that has run it, and does the rest.
  ///
  /// - Parameters:
  ///   - ending: Empty; gets what is left to do.
  ///   - scheduler: The scheduler of its queue.
  final func close(leaving ending: inout OperationEnding, in scheduler: Scheduler) {
    withLinks { close(&$0, leaving: &ending) }
    closed(leaving: &ending, in: scheduler)
  }

  /// No wait can begin from here on.
  private func close(_ links: inout OperationLinks, leaving ending: inout OperationEnding) {
    links.isClosed = true
    if !links.dependents.isEmpty || links.extra != nil { ending.take(from: &links) }
    // An operation of a layer may still hold its place, and forgets its queue when it leaves that.
    if !isLayered { links.leave() }
  }

  private func closed(leaving ending: inout OperationEnding, in scheduler: Scheduler?) {
    ending.sort(for: scheduler)
    if readiness.current.unfinished > 0 { unlinkDependencies() }
    // Before a waiter goes on: what observers did is done then.
    if wasObserved {
      ThreadContext.holding(self, by: .propertyObserver) { valuesMayHaveChanged() }
      valueObservers?.removeWatches()
    }
  }
}

extension OperationLife.Mistake {
  /// What happened, where, and how to avoid it.
  func sentence(about operation: Operation) -> String {
    let name = "“\(operation.label)”"
    switch self {
    case .enqueuedTwice:
      return "Operation \(name) was added to a queue, but it is in one already. "
        + "An operation belongs to one queue, once; make a new one for each run."
    case .enqueuedAfterStart:
      return "Operation \(name) was added to a queue after it had started or finished. "
        + "An operation runs once; make a new one for each run."
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

/// What the end of an operation leaves to do; nothing for one without waiters.
///
/// A worker has one for all that it ends: to make and destroy one each time was a tenth of the cost
/// of an empty block (callgrind).
struct OperationEnding: ~Copyable {
  /// The dependents that the operation's own queue may start now; it is notified in one step.
  private(set) var released = FewObjects<Operation>()
  /// The dependents that have more to wait for; only to be released.
  private var waiting = FewObjects<Operation>()
  private var extra: EndingExtra?

  var hasCompletion: Bool { extra?.completion != nil }

  /// Whether what is left to do is about the operation, which has to be kept alive until then.
  var needsOperation: Bool { extra.map { $0.waiters != nil || $0.completion != nil } ?? false }

  /// Whether nothing is left to do, and nothing to be released.
  var isEmpty: Bool { released.isEmpty && waiting.isEmpty && extra == nil }

  /// Whether neither the end nor the completion block has a waiter.
  var isUnawaited: Bool { released.isEmpty && extra == nil }

  /// What few ends leave.
  private final class EndingExtra {
    /// Those that other queues may start.
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

  /// Leaves only those of a queue among the released.
  mutating func sort(for scheduler: Scheduler?) {
    if released.isEmpty { return }
    // Without a lock: what is ready was taken into its queue before.
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

  /// The rest, once the operation's own queue knows: other queues, waiters, the completion block.
  ///
  /// - Parameters:
  ///   - operation: What has ended, kept alive by the caller; may be nil unless ``needsOperation``.
  ///   - scheduler: That of its queue.
  mutating func proceed(from operation: Operation?, in scheduler: Scheduler?) {
    released.removeAll()
    waiting.removeAll()
    guard let extra = extra.take() else { return }
    extra.others.forEach { dependent in dependent.withLinks { $0.scheduler }?.offered(dependent) }
    guard extra.waiters != nil || extra.completion != nil else { return }
    guard let operation else { trap("waiters are left of an operation that nothing keeps") }
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
  /// Called with the lock of the list held, which keeps the dependents alive until they are
  /// retained: one that a queue has let in can't leave it with an open dependency before it
  /// unlinked itself, under this lock. It is retained before it is notified, because it may start,
  /// finish and be released by other threads at once. One that has others to wait for, and one that
  /// is in no queue, is notified and not touched any more, so it isn't retained: the latter may be
  /// dying, and waiting for this lock to unlink itself.
  ///
  /// - Parameters:
  ///   - ready: Gets those that have nothing else to wait for.
  ///   - waiting: Gets those that turned out to have; to be released without the lock that is held.
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
  /// Runs a closure when the operation has finished; at once if it has.
  ///
  /// - Parameter body: Gets the operation, which its queue may have let go of by then.
  package final func whenFinished(_ body: @escaping @Sendable (Operation) -> Void) {
    if !register(.closure(body)) { body(self) }
  }

  /// What has returned without the end of the operation, which its class has to report; nil while
  /// that goes on, and for an operation that reports its end by returning.
  package final var callWithoutEnd: String? {
    switch life.current.phase {
    case .started where !isLayered: scheduler?.hasReturnedFromStart(self) == true ? "start()" : nil
    case .ended where !isFinished: "main()"
    case .created, .enqueued, .started, .executing, .ended, .finished: nil
    }
  }

  /// Whether an override of ``isFinished`` says so and has not reported it, so that the end is
  /// unknown to dependents.
  package final var hasUnreportedEnd: Bool { isFinished && life.current.phase < .ended }

  /// Whether others depend on the operation, or wait for its end.
  package final var hasDependents: Bool {
    withLinks { !$0.dependents.isEmpty || $0.extra?.waiters.isEmpty == false }
  }
}

extension OperationQueue {
  /// Runs a closure once the queue is empty; at once if it is.
  package final func whenEmpty(_ body: @escaping @Sendable () -> Void) {
    if !scheduler.waited(.closure({ _ in body() })) { body() }
  }

  /// Whether neither operations nor barriers are left.
  package final var isIdle: Bool { scheduler.isIdle }

  /// Whether an operation is a member; one that has left isn't.
  package final func has(_ operation: Operation) -> Bool {
    operation.isIn(ObjectIdentifier(scheduler))
  }
}

/// A closure that is called when an operation has finished, unless it is removed before.
///
/// It is for code that needs the end of an operation only as long as something else exists:
/// nothing of it stays with an operation that lives longer.
package struct EndWatch: Sendable {
  private let closure: RemovableClosure<@Sendable (Operation) -> Void>
  /// Not retained: an operation that never ends keeps its watches.
  private weak let operation: Operation?

  fileprivate init(of operation: Operation, _ body: @escaping @Sendable (Operation) -> Void) {
    self.operation = operation
    closure = RemovableClosure(body)
  }

  fileprivate func begin(_ operation: Operation) {
    if !operation.register(.removable(closure)) { closure.take()?.call(operation) }
  }

  /// Takes the closure back; does nothing if it was called.
  ///
  /// - Complexity: O(1), amortised.
  package func remove() {
    if closure.take() != nil { operation?.withLinks { $0.extra?.waiters.waitCancelled() } }
  }
}

extension Operation {
  /// Runs a closure when the operation has finished, unless the watch is removed before; at once if
  /// it has finished.
  ///
  /// - Parameter body: Gets the operation, which its queue may have let go of by then.
  /// - Returns: The watch, to be removed by what doesn't need it any more.
  package final func watchEnd(_ body: @escaping @Sendable (Operation) -> Void) -> EndWatch {
    let watch = EndWatch(of: self, body)
    watch.begin(self)
    return watch
  }
}
