import Synchronization

/// The state of an operation besides its atomic words, guarded by one lock.
@safe
struct OperationLinks: ~Copyable {
  // The small properties are last, so that the next property of the operation fills up their word.
  var dependents = DependentList()
  /// The scheduler of the queue that the operation is in; not retained.
  ///
  /// An operation clears this before or when it leaves its queue, which keeps the scheduler alive until then.
  /// If it were retained, all operations of a queue would count references to it, on many processors.
  private let schedulerReference = unsafe Atomic<Unmanaged<Scheduler>?>(nil)
  /// The properties that few operations need, created on first use.
  var extra: OperationExtra?
  /// A Boolean value that indicates whether the operation has finished, so that no wait for it can begin.
  var isClosed = false
  /// A Boolean value that indicates whether an edge from or to the operation can have completed a cycle.
  var mayBeInCycle = false
  /// The kind of code that waits for the end of the operation, besides dependents.
  var mark = WaitMark.none
  /// A Boolean value that indicates whether the blocks of a ``BlockOperation`` were taken out, to be run or
  /// released.
  var hasTakenBlocks = false
  /// A Boolean value that indicates whether a caller has claimed the right to add the operation to a queue.
  var isClaimed = false
  /// The raw value of ``priority``.
  private let priorityValue = Atomic<Int8>(0)
  private let askedAtStart = Atomic<Bool>(false)

  init() {}

  /// The priority that the program has set.
  ///
  /// A queue reads ``priorityLevel`` without this lock and with its own lock held, when the operation becomes
  /// a member and after each change. A thread that changes the priority finds the queue with this lock held
  /// and notifies the queue afterwards, so that the last change is never overwritten.
  var priority: Operation.QueuePriority {
    get { Operation.QueuePriority(clamping: Int(priorityValue.load(ordering: .relaxed))) }
    set { priorityValue.store(Int8(newValue.rawValue), ordering: .relaxed) }
  }

  /// The priority level, from 0 for the most urgent priority to 4; may be read without the lock.
  var priorityLevel: UInt8 { UInt8(2 - priorityValue.load(ordering: .relaxed) / 4) }

  /// A Boolean value that indicates whether the layer decides when a slot is available.
  ///
  /// The value may be read without the lock, and doesn't change once the operation is a member.
  var isAskedAtStart: Bool {
    get { askedAtStart.load(ordering: .relaxed) }
    set { askedAtStart.store(newValue, ordering: .relaxed) }
  }

  /// The scheduler of the queue that the operation is in.
  var scheduler: Scheduler? {
    unsafe schedulerReference.load(ordering: .relaxed)?.takeUnretainedValue()
  }

  /// Returns whether ``scheduler`` is a given scheduler, without counting references.
  ///
  /// This method may be called without the lock, because it doesn't dereference the scheduler.
  func isIn(_ scheduler: ObjectIdentifier) -> Bool {
    let reference = unsafe schedulerReference.load(ordering: .relaxed)
    return unsafe UInt(bitPattern: reference?.toOpaque()) == UInt(bitPattern: scheduler)
  }

  /// Records that the operation is about to be a member of a queue.
  mutating func enter(_ scheduler: Scheduler) {
    unsafe schedulerReference.store(.passUnretained(scheduler), ordering: .relaxed)
  }

  /// Records that the operation has left its queue.
  mutating func leave() { unsafe schedulerReference.store(nil, ordering: .relaxed) }

  mutating func makeExtra() -> OperationExtra {
    if let extra { return extra }
    let made = OperationExtra()
    extra = made
    return made
  }
}

extension Operation {
  /// A Boolean value that indicates whether executing code, or a barrier, needs the end of this operation.
  package final var isNeeded: Bool { withLinks { $0.mark } > .none }
}

/// The properties that few operations need.
///
/// The lock of the ``OperationLinks`` guards them.
final class OperationExtra {
  var name: String?
  var tag: (any Hashable & Sendable)?
  var completionBlock: (@Sendable () -> Void)?
  var cancellationReason: (any Error)?
  var qualityOfService = QualityOfService.default
  var threadPriority = 0.5
  var waiters = WaitList<Operation>()
  /// The waits of the operation's own code.
  var ownWaits: [OwnWait] = []
  var valueObservers: ValueObservers?
  /// The number of operations that need the end of this operation for their conditions.
  var conditionNeedCount = 0
  /// The number of calls that run the operation and wait for it.
  var runNeedCount = 0
  /// A Boolean value that indicates whether the operation was added to a queue only for conditions and such
  /// calls.
  var isOnlyNeeded = false
  /// A Boolean value that indicates whether the operation is being cancelled because nothing needs it.
  var isGivenUp = false
  /// The blocks of a ``BlockOperation`` except the first.
  var otherBlocks: [@Sendable () -> Void] = []
}

/// The most important kind of waiter for an operation, besides its dependents; later cases are more
/// important.
///
/// ``RunTimeCycles`` sets and reads the mark.
enum WaitMark: UInt8, Comparable {
  case none
  /// A barrier waits, directly or through other operations.
  case barrier
  /// Executing code or an executing group waits, directly or through other operations.
  case code

  static func < (one: WaitMark, other: WaitMark) -> Bool { one.rawValue < other.rawValue }
}
