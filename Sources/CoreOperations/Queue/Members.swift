/// The fields of an operation that belong to the scheduler of its queue.
///
/// The operation stores the fields, and the lock of the scheduler guards them. ``SchedulerState`` accesses
/// the fields as `self[member]`. Writing needs a mutable state, which only the holder of the lock has.
struct SchedulingFields {
  /// The links in the list of all members.
  var queueLinks = MemberLinks()
  /// The links in the waiting list that contains the operation.
  var lineLinks = MemberLinks()
  /// The number of the operation in the order of adding, in which operations of one priority start.
  var number: UInt32 = 0
  /// The number of barriers that were added before the operation, counted from the creation of the queue,
  /// modulo 2^32.
  ///
  /// Because the number wraps around, only the difference between two segments is meaningful.
  var segment: UInt32 = 0
  /// The index of the operation in the heap of its level; -1 if the operation isn't in a heap.
  var heapIndex: Int32 = -1
  /// The level of the priority, from 0 for the most urgent priority to 4.
  var level: UInt8 = 2
  private(set) var placement = Placement.outside
  private(set) var flags: Flags = []

  /// The properties of a member that its placement doesn't determine.
  struct Flags: OptionSet, Sendable {
    let rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The operation is in the list of all members.
    static let isMember = Flags(rawValue: 1)
    static let holdsSlot = Flags(rawValue: 1 << 1)
    /// Another member needs the operation for its conditions, so the operation starts without a slot.
    ///
    /// The flag doesn't change after the operation has become a member.
    static let needsNoSlot = Flags(rawValue: 1 << 2)
    /// The operation has finished, but keeps its slot and membership until its layer releases them.
    static let isHeldUntilIdle = Flags(rawValue: 1 << 3)
    /// The operation is on the stack of a worker, which starts it and will report.
    static let isOnStack = Flags(rawValue: 1 << 4)
    /// The operation left the queue while it was on the stack of a worker.
    ///
    /// The report of that worker releases it.
    static let isReleasedByReport = Flags(rawValue: 1 << 5)
    /// The completion block of the operation hasn't returned.
    static let hasCompletion = Flags(rawValue: 1 << 6)
    /// Something changed while a worker evaluated whether it may start.
    static let isNudged = Flags(rawValue: 1 << 7)
    /// The operation is to be started ahead of other operations and without a slot.
    static let leavesAhead = Flags(rawValue: 1 << 8)
    /// The operation is executing, but has released its slot for a pause and hasn't resumed.
    ///
    /// It is in the pause, or waits to resume.
    static let isPaused = Flags(rawValue: 1 << 9)
    /// The pause of the operation began while the operation was on the stack of a worker.
    ///
    /// The report of that worker begins the pause for the queue.
    static let pausesOnReturn = Flags(rawValue: 1 << 10)
    /// The pause has ended before the worker reported.
    static let isPauseOver = Flags(rawValue: 1 << 11)
    /// The body has released the slot of the operation, and the operation doesn't have a slot again.
    ///
    /// ``SchedulerState/releases`` contains the release.
    static let hasReleasedSlot = Flags(rawValue: 1 << 12)
  }

  /// Whether the end of the operation was reported.
  var isFinished: Bool { placement == .ending || placement == .gone }

  /// Sets the placement.
  ///
  /// ``SchedulerState/move(_:to:)`` calls this method, and updates the waiting lists.
  mutating func move(to placement: Placement) {
    assert(
      self.placement.mayBecome(placement),
      "an operation moved from \(self.placement) to \(placement)"
    )
    self.placement = placement
  }

  /// Resets the fields of an operation whose queue was abandoned.
  ///
  /// The queue discards its waiting lists as a whole.
  mutating func abandoned() {
    placement = .gone
    lineLinks = MemberLinks()
    heapIndex = -1
    flags.remove(.holdsSlot)
  }

  fileprivate subscript(flag: Flags) -> Bool {
    @inline(__always) get { flags.contains(flag) }
    @inline(__always) set { if newValue { flags.insert(flag) } else { flags.remove(flag) } }
  }
}

/// An uncounted reference to an operation, with the fields that only its queue may access.
///
/// Counting a reference costs two atomic instructions each time.
///
/// A queue uses uncounted references nowhere else. They are valid for two reasons. ``QueueMembers`` retains
/// each operation from the moment at which it becomes a member. If an operation leaves while a worker has it
/// on its stack, the report of that worker releases the operation.
@safe
struct Member: Equatable, @unchecked Sendable {
  // Sendable: an operation is Sendable, and its scheduling fields are only accessed with the lock of the
  // queue held.

  private let reference: Unmanaged<Operation>

  init(_ operation: Operation) { unsafe reference = .passUnretained(operation) }

  /// The operation, as a counted reference.
  var operation: Operation { unsafe reference.takeUnretainedValue() }

  /// Calls `body` with the operation, without counting a reference.
  @inline(__always)
  func use<Result>(_ body: (Operation) -> Result) -> Result {
    unsafe reference._withUnsafeGuaranteedRef(body)
  }

  /// Calls `body` with each of several operations, in order, without counting references.
  ///
  /// The array retains the operations. Two passes over a batch that counted references took a tenth of the
  /// time of a chain of operations.
  static func forEach(in operations: [Operation], _ body: (Member) -> Void) {
    unsafe operations.withUnsafeBufferPointer { operations in
      unsafe operations.withMemoryRebound(to: Unmanaged<Operation>.self) { references in
        for index in references.indices { unsafe body(Member(references[index])) }
      }
    }
  }

  private init(_ reference: Unmanaged<Operation>) { unsafe self.reference = reference }

  fileprivate var fields: SchedulingFields {
    @inline(__always) _read { yield unsafe reference._withUnsafeGuaranteedRef { $0 }.scheduling }
    @inline(__always) nonmutating _modify {
      yield unsafe &reference._withUnsafeGuaranteedRef { $0 }.scheduling
    }
  }

  /// The identity of the operation, which is unique while the operation is a member.
  var identity: ObjectIdentifier { use { ObjectIdentifier($0) } }
  var progress: OperationReadiness.Progress { use { $0.readiness.current.progress } }
  var isCancelled: Bool { use { $0.isCancelledFlag } }
  var isLayered: Bool { use { $0.isLayered } }
  /// Whether the queue knows everything about the operation, because the operation overrides nothing.
  var isKnown: Bool { use { $0.isKnown } }

  static func == (a: Member, b: Member) -> Bool {
    unsafe a.reference.toOpaque() == b.reference.toOpaque()
  }

  /// Retains the operation until ``released()``.
  func retained() -> Member {
    _ = unsafe reference.retain()
    return self
  }

  /// Returns the operation, and takes over the reference that ``retained()`` added.
  func released() -> Operation { unsafe reference.takeRetainedValue() }
}

extension SchedulerState {
  /// The scheduling fields of a member.
  subscript(member: Member) -> SchedulingFields {
    @inline(__always) _read { yield member.fields }
    @inline(__always) _modify { yield &member.fields }
  }

  /// Whether a flag of a member is set.
  subscript(member: Member, flag: SchedulingFields.Flags) -> Bool {
    @inline(__always) get { member.fields[flag] }
    @inline(__always) set { member.fields[flag] = newValue }
  }
}

/// The links of a member to its neighbors in a list.
struct MemberLinks {
  var next: Member?
  var previous: Member?
}

/// A kind of list, which uses one of the two pairs of links of a member.
protocol MemberLinkage {
  static subscript(member: Member) -> MemberLinks { get set }
}

/// The waiting list that contains a member; a member is in one waiting list at a time.
enum LineLinkage: MemberLinkage {
  static subscript(member: Member) -> MemberLinks {
    @inline(__always) get { member.fields.lineLinks }
    @inline(__always) set { member.fields.lineLinks = newValue }
  }
}

/// The list of all members of the queue.
enum QueueLinkage: MemberLinkage {
  static subscript(member: Member) -> MemberLinks {
    @inline(__always) get { member.fields.queueLinks }
    @inline(__always) set { member.fields.queueLinks = newValue }
  }
}

/// A list whose links are in its members, so that it allocates no memory and removes any member in O(1).
///
/// The list doesn't retain its members.
struct LinkedMembers<Linkage: MemberLinkage> {
  private(set) var first: Member?
  private(set) var last: Member?

  var isEmpty: Bool { first == nil }

  mutating func append(_ member: Member) {
    Linkage[member] = MemberLinks(next: nil, previous: last)
    if let last { Linkage[last].next = member } else { first = member }
    last = member
  }

  mutating func remove(_ member: Member) {
    let links = Linkage[member]
    if let next = links.next {
      Linkage[next].previous = links.previous
    } else {
      last = links.previous
    }
    if let previous = links.previous {
      Linkage[previous].next = links.next
    } else {
      first = links.next
    }
    Linkage[member] = MemberLinks()
  }

  /// Returns the first matching members, up to a number; the last ones, in reverse order, if `fromEnd` is
  /// true.
  func few(
    _ wanted: Int = .max,
    fromEnd: Bool = false,
    where fits: (Member) -> Bool = { _ in true }
  ) -> [Member] {
    var members: [Member] = []
    var next = fromEnd ? last : first
    while members.count < wanted, let member = next {
      if fits(member) { members.append(member) }
      next = fromEnd ? Linkage[member].previous : Linkage[member].next
    }
    return members
  }
}

/// A waiting list of a queue.
typealias MemberLine = LinkedMembers<LineLinkage>

/// A list of all operations of a queue in the order of adding, which retains each operation.
struct QueueMembers {
  private var list = LinkedMembers<QueueLinkage>()
  private(set) var count = 0
  private var lastNumber: UInt32

  /// - Parameter lastNumber: The number of the last member; not 0 in tests, which can't add four billion
  ///   operations.
  init(lastNumber: UInt32 = 0) { self.lastNumber = lastNumber }

  mutating func append(_ member: Member) {
    if lastNumber == .max { renumber() }
    lastNumber += 1
    member.fields.number = lastNumber
    member.fields[.isMember] = true
    list.append(member.retained())
    count += 1
  }

  /// Renumbers the members in the same order, because the highest number is taken.
  ///
  /// Waiting lists that are sorted by number stay sorted.
  private mutating func renumber() {
    lastNumber = 0
    for member in list.few() {
      lastNumber += 1
      member.fields.number = lastNumber
    }
  }

  /// Removes a member.
  ///
  /// The caller takes over the reference of the list with ``Member/released()``, and releases the operation
  /// without the lock.
  mutating func remove(_ member: Member) {
    list.remove(member)
    member.fields[.isMember] = false
    count -= 1
  }

  var operations: [Operation] { list.few().map(\.operation) }

  /// Returns the first matching operations, in the order of adding.
  func first(_ wanted: Int, where fits: (Member) -> Bool) -> [Operation] {
    list.few(wanted, where: fits).map(\.operation)
  }

  /// Returns the last matching operations, beginning with the last one.
  func last(_ wanted: Int, where fits: (Member) -> Bool) -> [Operation] {
    list.few(wanted, fromEnd: true, where: fits).map(\.operation)
  }
}

/// A queue of the operations that can start, ordered by priority and then by the order of adding.
///
/// Each priority has a list and a heap. An operation is appended to the list if it was added later
/// than the last operation there. Otherwise it goes into the heap, so that it gets its place
/// without a search.
///
/// - Complexity: Adding and removing are O(1) for operations that become ready in the order of adding. They
///   are O(log n) for other operations, n the number of such operations.
struct ReadyLine {
  private struct Level {
    var line = MemberLine()
    /// Operations that became ready after one that was added later.
    var late = IndexedHeap<Member>()

    var isEmpty: Bool { line.isEmpty && late.isEmpty }

    var first: Member? {
      guard let late = late.first else { return line.first }
      guard let listed = line.first else { return late }
      return late.isBefore(listed) ? late : listed
    }

    mutating func insert(_ member: Member) {
      if let last = line.last, member.isBefore(last) {
        late.insert(member)
      } else {
        line.append(member)
      }
    }
  }

  private var levels = (Level(), Level(), Level(), Level(), Level())
  /// A bit mask: bit n is set if level n isn't empty.
  private var occupied: UInt8 = 0

  var isEmpty: Bool { occupied == 0 }

  /// The operation that starts next.
  var first: Member? {
    mutating get {
      if isEmpty { return nil }
      return withLevel(UInt8(occupied.trailingZeroBitCount)) { $0.first }
    }
  }

  /// Adds an operation.
  mutating func insert(_ member: Member) {
    let level = member.fields.level
    withLevel(level) { $0.insert(member) }
    occupied |= 1 << level
  }

  mutating func remove(_ member: Member) {
    let level = member.fields.level
    let isEmpty = withLevel(level) { level -> Bool in
      if member.fields.heapIndex >= 0 {
        level.late.remove(at: Int(member.fields.heapIndex))
        member.fields.heapIndex = -1
      } else {
        level.line.remove(member)
      }
      return level.isEmpty
    }
    if isEmpty { occupied &= ~(1 << level) }
  }

  private mutating func withLevel<Result>(_ level: UInt8, _ body: (inout Level) -> Result) -> Result
  {
    switch level {
    case 0: body(&levels.0)
    case 1: body(&levels.1)
    case 2: body(&levels.2)
    case 3: body(&levels.3)
    default: body(&levels.4)
    }
  }
}

extension Member {
  /// Whether the operation starts before another operation if both are ready.
  func startsBefore(_ other: Member) -> Bool {
    (fields.level, fields.number) < (other.fields.level, other.fields.number)
  }
}

/// Orders each heap by the order of adding. The index is the place of the operation in the heap of its level.
extension Member: HeapElement {
  func isBefore(_ other: Member) -> Bool { fields.number < other.fields.number }
  func moved(to index: Int) { fields.heapIndex = Int32(index) }
}
