import Dispatch
import Synchronization

/// The waits that block the main thread: nothing that runs there goes on before they are over.
///
/// An operation whose queue runs on the main thread needs what that waits for, like one that is
/// behind it in a line. So the searches for cycles find when it is needed for that in turn.
enum MainThreadWaits {
  private static let count = Atomic<Int>(0)
  private static let waits = Locked<[OwnWait]>([])
  /// Those of queues that have run on the main thread: that of `main`, and of those that were given
  /// the main dispatch queue.
  private static let schedulers = Locked<[WeakScheduler]>([])

  private struct WeakScheduler {
    weak let scheduler: Scheduler?
  }

  /// False where threads are simulated, which don't depend on others of the process.
  static var isAny: Bool { !isInterruptible && count.load(ordering: .sequentiallyConsistent) > 0 }

  /// A queue runs on the main thread from now on.
  static func noteQueue(of scheduler: Scheduler) {
    schedulers.withLock { all in
      all.removeAll { $0.scheduler == nil || $0.scheduler === scheduler }
      all.append(WeakScheduler(scheduler: scheduler))
    }
  }

  /// What an operation waits for that needs the main thread; nil when nothing blocks that.
  static var wait: Wait? {
    let waits = waits.withLock { $0 }
    guard let last = waits.last else { return nil }
    let needs = waits.flatMap { wait in wait.target.nodes.map { WaitNeed($0, stamp: wait.id) } }
    return Wait(.mainThread(waitsFor: last.target.label), of: [], until: .needs(needs))
  }

  /// A wait begins to block the main thread.
  ///
  /// - Returns: The labels along the cycle, if the wait needs what can't happen before it is over;
  ///   nil if it doesn't.
  /// - Complexity: O(1) while no queue has anything to run on the main thread; O(v + e) of what the
  ///   wait needs otherwise.
  static func begin(_ id: UInt64, for target: WaitTarget) -> [String]? {
    waits.withLock { $0.append(OwnWait(id: id, target: target, isBinding: true)) }
    count.add(1, ordering: .sequentiallyConsistent)
    let busy = schedulers.withLock { $0 }.compactMap(\.scheduler)
      .filter { $0.runsOnMainThread && !$0.isIdle }
    if busy.isEmpty { return nil }
    if case .queue(let queue) = target, busy.contains(where: { $0 === queue.scheduler }) {
      return [target.label, "the main thread"]
    }
    var search = WaitSearch()
    for node in target.nodes where !search.canHappen(node) {
      if let cycle = WaitSearch.cycle(through: node) { return cycle.labels.dropLast() }
    }
    return nil
  }

  static func end(_ id: UInt64) {
    count.subtract(1, ordering: .sequentiallyConsistent)
    let garbage = waits.withLock { waits in
      let garbage = waits.filter { $0.id == id }
      waits.removeAll { $0.id == id }
      return garbage
    }
    withExtendedLifetime(garbage) {}
  }
}
