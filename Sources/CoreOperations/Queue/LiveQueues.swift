import Synchronization

/// The queues that were created since recording began, for reports about the whole process.
///
/// While recording is off, a new queue reads one flag, and operations cost nothing at any time. The list
/// keeps no queue alive: a queue that has something to do keeps itself alive, and others aren't reported.
package enum LiveQueues {
  private struct Reference: Sendable {
    weak let scheduler: Scheduler?
  }

  private struct State {
    var references: [Reference] = []
    /// The number of references at which those of deallocated queues are removed.
    var limit = 64
  }

  /// A hint for queues that are created at the same time, so it needs no order with anything else.
  private static let isOn = Atomic(false)
  private static let state = Locked(State())

  package static var isRecording: Bool { isOn.load(ordering: .relaxed) }

  /// Records the main queue, and each queue that is created from now on.
  package static func record() {
    // The main queue is created before the flag is set, because it would otherwise be in the list twice.
    let main = OperationQueue.main.scheduler
    if !isOn.exchange(true, ordering: .relaxed) { created(main) }
  }

  static func created(_ scheduler: Scheduler) {
    guard isRecording else { return }
    withState { state in
      if state.references.count >= state.limit {
        state.references.removeAll { $0.scheduler == nil }
        state.limit = max(64, 2 * state.references.count)
      }
      state.references.append(Reference(scheduler: scheduler))
    }
  }

  /// The queues that have operations or barriers, in the order of their creation.
  package static var busy: [OperationQueue] {
    withState { $0.references }.compactMap { $0.scheduler?.owner }
  }

  /// The number of entries, including those of queues that were deallocated recently.
  static var recordedCount: Int { withState { $0.references.count } }

  private static func withState<Result>(_ body: (inout State) -> Result) -> Result {
    #if DEBUG
    // A schedule must not depend on whether queues are recorded.
    return Preemption.without { state.withLock { body(&$0) } }
    #else
    return state.withLock { body(&$0) }
    #endif
  }
}

/// Members of a queue that all wait for a slot, that all wait behind the same barrier, or a single other member.
package struct MemberGroup {
  package let queue: OperationQueue
  package fileprivate(set) var operations: [Operation]
  /// Whether the operation has finished, and its completion block hasn't returned.
  package let runsCompletionBlock: Bool
  package var first: Operation { operations[0] }
}

extension OperationQueue {
  package final var runsOnMainThread: Bool { scheduler.runsOnMainThread }

  /// The members in groups, without members that have finished and only leave the queue.
  ///
  /// A single explanation per group is enough, because it lists all operations that are in the way.
  ///
  /// - Complexity: O(n), n the number of members.
  package final var membersByWait: [MemberGroup] {
    scheduler.state.withLock { $0.membersByWait(of: self) }
  }
}

extension SchedulerState {
  fileprivate mutating func membersByWait(of queue: OperationQueue) -> [MemberGroup] {
    closuresBecomeOperations()
    var groups: [MemberGroup] = []
    var places: [Int: Int] = [:]
    for operation in members.operations {
      let member = Member(operation)
      let isCompleting = self[member, .hasCompletion]
      if self[member].isFinished, !isCompleting, !self[member, .isHeldUntilIdle] { continue }
      let group = MemberGroup(
        queue: queue,
        operations: [operation],
        runsCompletionBlock: isCompleting
      )
      let inFront: Int? =
        switch self[member].placement {
        case .behindBarrier: barriersInFront(of: member)
        case .ready where isFull(for: member): 0
        case .outside, .waiting, .service, .evaluating, .ready, .parked, .granted, .started,
          .paused,
          .ending, .gone:
          nil
        }
      // Only a member that hasn't begun waits for nothing else.
      guard let inFront, !self[member, .isPaused], !self[member, .leavesAhead], !member.isCancelled
      else {
        groups.append(group)
        continue
      }
      if let place = places[inFront] {
        groups[place].operations.append(operation)
      } else {
        places[inFront] = groups.count
        groups.append(group)
      }
    }
    return groups
  }
}
