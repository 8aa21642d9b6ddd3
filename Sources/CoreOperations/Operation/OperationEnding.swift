/// The completion block of an operation that has ended, which the thread that runs it releases.
final class CompletionBlock: Sendable {
  private let block: Locked<StoredClosure<@Sendable () -> Void>?>

  init?(_ block: (@Sendable () -> Void)?) {
    guard let block else { return nil }
    self.block = Locked(StoredClosure(block))
  }

  /// Calls the block, once, and releases it.
  ///
  /// - Parameter afterwards: Called when the block has returned, before it is released.
  func run(_ afterwards: () -> Void) {
    let block = block.withLock { $0.take() }
    block?.call()
    afterwards()
    withExtendedLifetime(block) {}
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
  private var rest: Rest?

  var hasCompletion: Bool { rest?.completion != nil }

  /// Whether what is left to do is about the operation, which has to be kept alive until then.
  var needsOperation: Bool { rest.map { $0.waiters != nil || $0.completion != nil } ?? false }

  /// Whether nothing is left to do, and nothing to be released.
  var isEmpty: Bool { released.isEmpty && waiting.isEmpty && rest == nil }

  /// Whether neither the end nor the completion block has a waiter.
  var isUnawaited: Bool { released.isEmpty && rest == nil }

  /// What few ends leave.
  private final class Rest {
    /// Those that other queues may start.
    var others = FewObjects<Operation>()
    var completion: (@Sendable () -> Void)?
    var waiters: WaitList<Operation>?
  }

  private mutating func makeRest() -> Rest {
    if let rest { return rest }
    let made = Rest()
    rest = made
    return made
  }

  /// Takes dependents, waiters and the completion block out of the links of an operation.
  mutating func take(from links: inout OperationLinks) {
    if let extra = links.extra, extra.completionBlock != nil || extra.waiters.isInUse {
      let rest = makeRest()
      swap(&rest.completion, &extra.completionBlock)
      rest.waiters = extra.waiters
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
    let rest = makeRest()
    released.forEach { operation in
      let isOwn = id.map { operation.isIn($0) } ?? false
      if isOwn { own.append(operation) } else { rest.others.append(operation) }
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
    guard let rest = rest.take() else { return }
    rest.others.forEach { dependent in dependent.withLinks { $0.scheduler }?.offered(dependent) }
    guard rest.waiters != nil || rest.completion != nil else { return }
    guard let operation else { trap("waiters are left of an operation that nothing keeps") }
    rest.waiters?.wakeAll(operation)
    guard let completion = CompletionBlock(rest.completion.take()) else { return }
    if let scheduler {
      scheduler.completionIsDue(completion, of: operation)
    } else {
      DefaultExecutor.shared.enqueue { completion.run {} }
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
