import Synchronization

/// What an operation has besides its atomic words; guarded by one lock.
@safe
struct OperationLinks: ~Copyable {
  // The small ones are last, where what follows in the object fills up their word.
  var dependents = DependentList()
  /// That of the queue that the operation is in; not retained.
  ///
  /// An operation forgets it before or when it leaves its queue, which keeps it alive until then.
  /// All operations of a queue would count references to it, on as many processors.
  private let schedulerReference = unsafe Atomic<Unmanaged<Scheduler>?>(nil)
  /// Made on first use.
  var extra: OperationExtra?
  /// Whether the operation is over: no wait for it can begin any more.
  var isClosed = false
  /// Whether an edge from or to the operation can have completed a cycle.
  var mayBeInCycle = false
  /// What waits for the end of the operation, besides dependents.
  var mark = WaitMark.none
  /// Whether the blocks of a ``BlockOperation`` were taken out, to be run or released.
  var hasTakenBlocks = false
  /// Whether something has undertaken to add the operation to a queue.
  var isClaimed = false
  /// The raw value of ``priority``.
  private let priorityValue = Atomic<Int8>(0)
  private let askedAtStart = Atomic<Bool>(false)

  init() {}

  /// The priority that the program has set.
  ///
  /// A queue reads ``priorityLevel`` without this lock, with its own held: when the operation
  /// becomes a member, and after each change. A thread that changes the priority finds the queue
  /// with this lock held and notifies it afterwards, so that the last change is never overwritten.
  var priority: Operation.QueuePriority {
    get { Operation.QueuePriority(clamping: Int(priorityValue.load(ordering: .relaxed))) }
    set { priorityValue.store(Int8(newValue.rawValue), ordering: .relaxed) }
  }

  /// 0 for the most urgent priority to 4; may be read without the lock.
  var priorityLevel: UInt8 { UInt8(2 - priorityValue.load(ordering: .relaxed) / 4) }

  /// Whether the layer decides when a slot is available; may be read without the lock, and doesn't
  /// change once the operation is a member.
  var isAskedAtStart: Bool {
    get { askedAtStart.load(ordering: .relaxed) }
    set { askedAtStart.store(newValue, ordering: .relaxed) }
  }

  /// The scheduler of the queue that the operation is in.
  var scheduler: Scheduler? {
    unsafe schedulerReference.load(ordering: .relaxed)?.takeUnretainedValue()
  }

  /// Whether ``scheduler`` is a given one, without counting references.
  ///
  /// This may be read without the lock, as nothing is followed.
  func isIn(_ scheduler: ObjectIdentifier) -> Bool {
    let reference = unsafe schedulerReference.load(ordering: .relaxed)
    return unsafe UInt(bitPattern: reference?.toOpaque()) == UInt(bitPattern: scheduler)
  }

  /// The operation is going to be a member of a queue.
  mutating func enter(_ scheduler: Scheduler) {
    unsafe schedulerReference.store(.passUnretained(scheduler), ordering: .relaxed)
  }

  /// The operation has nothing to do with its queue any more.
  mutating func leave() { unsafe schedulerReference.store(nil, ordering: .relaxed) }

  mutating func makeExtra() -> OperationExtra {
    if let extra { return extra }
    let made = OperationExtra()
    extra = made
    return made
  }
}

extension Operation {
  /// Whether code that executes, or a barrier, needs the end of this operation.
  package final var isNeeded: Bool { withLinks { $0.mark } > .none }
}

/// What few operations have.
///
/// Only touched under the lock of the ``OperationLinks`` that it is in.
final class OperationExtra {
  var name: String?
  var tag: (any Hashable & Sendable)?
  var completionBlock: (@Sendable () -> Void)?
  var cancellationReason: (any Error)?
  var qualityOfService = QualityOfService.default
  var threadPriority = 0.5
  var waiters = WaitList<Operation>()
  /// What the operation's own code waits for.
  var ownWaits: [OwnWait] = []
  var valueObservers: ValueObservers?
  /// How many operations need the end of this one for their conditions.
  var conditionNeedCount = 0
  /// How many calls that run the operation wait for it.
  var runNeedCount = 0
  /// Whether it was added to a queue for conditions and such calls alone.
  var isOnlyNeeded = false
  /// The blocks of a ``BlockOperation`` but the first.
  var otherBlocks: [@Sendable () -> Void] = []
}

/// What waits for an operation, besides its dependents; the later ones weigh more.
///
/// ``RunTimeCycles`` sets and reads it.
enum WaitMark: UInt8, Comparable {
  case none
  /// A barrier, directly or through others.
  case barrier
  /// Code that executes, or a group that does, directly or through others.
  case code

  static func < (one: WaitMark, other: WaitMark) -> Bool { one.rawValue < other.rawValue }
}
