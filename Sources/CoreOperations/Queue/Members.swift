/// What a scheduler knows of one operation.
///
/// It is stored in the operation, and guarded by the lock of that scheduler: ``SchedulerState``
/// reads it as `self[member]`, and writing takes a mutable state, which only the lock gives.
struct SchedulingFields {
  /// In the list of all members.
  var queueLinks = MemberLinks()
  /// In the line that it stands in.
  var lineLinks = MemberLinks()
  /// When it was added, as a number: the order in which operations of one priority start.
  var number: UInt32 = 0
  /// How many barriers were added before it, counted since the queue was made, modulo 2^32: only
  /// the distance to that of others means anything.
  var segment: UInt32 = 0
  /// Its place in the heap of its level; -1 when it is in none.
  var heapIndex: Int32 = -1
  /// 0 for the most urgent priority to 4.
  var level: UInt8 = 2
  private(set) var placement = Placement.outside
  private(set) var flags: Flags = []

  /// What is true of a member, besides its place.
  struct Flags: OptionSet, Sendable {
    let rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// It is in the list of all members.
    static let isMember = Flags(rawValue: 1)
    static let holdsSlot = Flags(rawValue: 1 << 1)
    /// Another member needs it for its conditions, so that it starts without a slot; doesn't change
    /// once it is a member.
    static let needsNoSlot = Flags(rawValue: 1 << 2)
    /// Finished, but slot and membership are kept until its layer releases them.
    static let isHeldUntilIdle = Flags(rawValue: 1 << 3)
    /// It is on the stack of a worker that starts it and will report.
    static let isOnStack = Flags(rawValue: 1 << 4)
    /// It has left while it was on the stack of a worker, whose report releases it.
    static let isReleasedByReport = Flags(rawValue: 1 << 5)
    /// Its completion block has not returned.
    static let hasCompletion = Flags(rawValue: 1 << 6)
    /// Something changed while a worker evaluated whether it may start.
    static let isNudged = Flags(rawValue: 1 << 7)
    /// It is to be started ahead of others and without a slot.
    static let leavesAhead = Flags(rawValue: 1 << 8)
    /// It executes, has released its slot for a pause, and has not resumed: it is in the pause, or
    /// waits for its next turn.
    static let isPaused = Flags(rawValue: 1 << 9)
    /// Its pause began while its turn was on the stack of a worker, whose report begins it for the
    /// queue.
    static let pausesOnReturn = Flags(rawValue: 1 << 10)
    /// That pause is over already.
    static let isPauseOver = Flags(rawValue: 1 << 11)
    /// Its body has released its slot, and doesn't have it again; ``SchedulerState/releases`` has
    /// the release.
    static let hasReleasedSlot = Flags(rawValue: 1 << 12)
  }

  /// Its end was reported.
  var isFinished: Bool { placement == .ending || placement == .gone }

  /// Notes where it is from now on; ``SchedulerState/move(_:to:)`` does so, and changes the lines.
  mutating func move(to placement: Placement) {
    assert(
      self.placement.mayBecome(placement),
      "an operation moved from \(self.placement) to \(placement)"
    )
    self.placement = placement
  }

  /// The queue was abandoned: the operation is in no line, wherever it was.
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

/// An operation as its queue hands it around: without counting a reference, which costs two atomic
/// instructions each time, and with what only the queue may see and change.
///
/// The only place of a queue with references that aren't counted. They are valid because
/// ``QueueMembers`` retains each operation from the moment it is a member, and because one that
/// leaves while a worker has it on its stack is released by the report of that worker.
@safe
struct Member: Equatable, @unchecked Sendable {
  // Sendable: an operation is, and what it adds is only reached with the lock of the queue held.

  private let reference: Unmanaged<Operation>

  init(_ operation: Operation) { unsafe reference = .passUnretained(operation) }

  /// The operation, counted.
  var operation: Operation { unsafe reference.takeUnretainedValue() }

  /// Calls `body` with the operation, not counted.
  @inline(__always)
  func use<Result>(_ body: (Operation) -> Result) -> Result {
    unsafe reference._withUnsafeGuaranteedRef(body)
  }

  /// Calls `body` with each of several operations, in order, without counting references.
  ///
  /// The array holds them. Two walks over a batch that counted were a tenth of what a chain costs.
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

  /// Tells the operation from others while it is a member.
  var identity: ObjectIdentifier { use { ObjectIdentifier($0) } }
  var progress: OperationReadiness.Progress { use { $0.readiness.current.progress } }
  var isCancelled: Bool { use { $0.isCancelledFlag } }
  var isLayered: Bool { use { $0.isLayered } }
  /// Whether everything is known of it, because nothing is overridden.
  var isKnown: Bool { use { $0.isKnown } }

  static func == (a: Member, b: Member) -> Bool {
    unsafe a.reference.toOpaque() == b.reference.toOpaque()
  }

  /// One reference more, until ``released()``.
  func retained() -> Member {
    _ = unsafe reference.retain()
    return self
  }

  /// Takes over the reference of ``retained()``.
  func released() -> Operation { unsafe reference.takeRetainedValue() }
}

extension SchedulerState {
  /// What the queue knows of a member.
  subscript(member: Member) -> SchedulingFields {
    @inline(__always) _read { yield member.fields }
    @inline(__always) _modify { yield &member.fields }
  }

  /// Whether something is true of a member.
  subscript(member: Member, flag: SchedulingFields.Flags) -> Bool {
    @inline(__always) get { member.fields[flag] }
    @inline(__always) set { member.fields[flag] = newValue }
  }
}

/// The links of a member to those beside it in a list.
struct MemberLinks {
  var next: Member?
  var previous: Member?
}

/// Which of the two pairs of links of a member a list goes by.
protocol MemberLinkage {
  static subscript(member: Member) -> MemberLinks { get set }
}

/// The line that a member stands in; it is in one at a time.
enum LineLinkage: MemberLinkage {
  static subscript(member: Member) -> MemberLinks {
    @inline(__always) get { member.fields.lineLinks }
    @inline(__always) set { member.fields.lineLinks = newValue }
  }
}

/// All members of the queue.
enum QueueLinkage: MemberLinkage {
  static subscript(member: Member) -> MemberLinks {
    @inline(__always) get { member.fields.queueLinks }
    @inline(__always) set { member.fields.queueLinks = newValue }
  }
}

/// A list that needs no memory of its own, and from the middle of which a member is taken in O(1):
/// the links are in the members.
///
/// It retains nothing.
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

  /// The first members that fit, up to a number; from the end, if so wanted.
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

/// A line of a queue.
typealias MemberLine = LinkedMembers<LineLinkage>

/// All operations of a queue in the order of adding; retains each.
struct QueueMembers {
  private var list = LinkedMembers<QueueLinkage>()
  private(set) var count = 0
  private var lastNumber: UInt32

  /// - Parameter lastNumber: Other than 0 in tests, which can't add four billion operations.
  init(lastNumber: UInt32 = 0) { self.lastNumber = lastNumber }

  mutating func append(_ member: Member) {
    if lastNumber == .max { renumber() }
    lastNumber += 1
    member.fields.number = lastNumber
    member.fields[.isMember] = true
    list.append(member.retained())
    count += 1
  }

  /// Gives the members new numbers in the same order, because the last one was given out.
  ///
  /// Lines that are sorted by the numbers stay sorted.
  private mutating func renumber() {
    lastNumber = 0
    for member in list.few() {
      lastNumber += 1
      member.fields.number = lastNumber
    }
  }

  /// Takes a member out; the list's reference is the caller's, to be ``Member/released()``
  /// unlocked.
  mutating func remove(_ member: Member) {
    list.remove(member)
    member.fields[.isMember] = false
    count -= 1
  }

  var operations: [Operation] { list.few().map(\.operation) }

  /// The first few that fit, in the order of adding.
  func first(_ wanted: Int, where fits: (Member) -> Bool) -> [Operation] {
    list.few(wanted, where: fits).map(\.operation)
  }

  /// The last few that fit, the last one first.
  func last(_ wanted: Int, where fits: (Member) -> Bool) -> [Operation] {
    list.few(wanted, fromEnd: true, where: fits).map(\.operation)
  }
}

/// The operations that could start, in the order in which they will: by priority, and among equals
/// in the order in which they were added to the queue.
///
/// Each priority has a list and a heap. An operation is appended to the list if it was added later
/// than the last operation there. Otherwise it goes into the heap, so that it gets its place
/// without a search.
///
/// - Complexity: Adding and taking O(1) for operations that become ready in the order of adding;
///   for others O(log n), n the number of those.
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
  /// Bit n is set when level n has something.
  private var occupied: UInt8 = 0

  var isEmpty: Bool { occupied == 0 }

  /// The one whose turn is next.
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
  /// Whether this one starts before another one if both are ready.
  func startsBefore(_ other: Member) -> Bool {
    (fields.level, fields.number) < (other.fields.level, other.fields.number)
  }
}

/// The first that was added first; the index is that in the heap of a level of the line.
extension Member: HeapElement {
  func isBefore(_ other: Member) -> Bool { fields.number < other.fields.number }
  func moved(to index: Int) { fields.heapIndex = Int32(index) }
}
