/// What a scheduler knows of one operation.
///
/// Guarded by the lock of that scheduler.
package struct SchedulingFields {
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
  private var flags: Flags = []

  private struct Flags: OptionSet {
    let rawValue: UInt16

    static let isMember = Flags(rawValue: 1)
    static let holdsSlot = Flags(rawValue: 1 << 1)
    static let isHeldUntilIdle = Flags(rawValue: 1 << 2)
    static let isOnStack = Flags(rawValue: 1 << 3)
    static let hasCompletion = Flags(rawValue: 1 << 4)
    static let isNudged = Flags(rawValue: 1 << 5)
    static let leavesAhead = Flags(rawValue: 1 << 6)
    static let isAskedAtStart = Flags(rawValue: 1 << 7)
    static let isPaused = Flags(rawValue: 1 << 8)
    static let pausesOnReturn = Flags(rawValue: 1 << 9)
    static let isPauseOver = Flags(rawValue: 1 << 10)
    static let isReleasedByReport = Flags(rawValue: 1 << 11)
    static let needsNoSlot = Flags(rawValue: 1 << 12)
  }

  package var isMember: Bool {
    get { self[.isMember] }
    set { self[.isMember] = newValue }
  }
  package var holdsSlot: Bool {
    get { self[.holdsSlot] }
    set { self[.holdsSlot] = newValue }
  }
  /// Another member needs it for its conditions, so that it starts beside the limit; doesn't change
  /// once it is a member.
  var needsNoSlot: Bool {
    get { self[.needsNoSlot] }
    set { self[.needsNoSlot] = newValue }
  }
  /// Its end was reported.
  package var isFinished: Bool { placement == .ending || placement == .gone }
  /// Finished, but slot and membership are kept until the layer above lets go.
  package var isHeldUntilIdle: Bool {
    get { self[.isHeldUntilIdle] }
    set { self[.isHeldUntilIdle] = newValue }
  }
  /// It is on the stack of a worker that starts it and will report.
  package var isOnStack: Bool {
    get { self[.isOnStack] }
    set { self[.isOnStack] = newValue }
  }
  /// It has left while it was on the stack of a worker, whose report releases it.
  var isReleasedByReport: Bool {
    get { self[.isReleasedByReport] }
    set { self[.isReleasedByReport] = newValue }
  }
  /// Its completion block has not returned.
  package var hasCompletion: Bool {
    get { self[.hasCompletion] }
    set { self[.hasCompletion] = newValue }
  }
  /// Something changed while a worker was asking.
  var isNudged: Bool {
    get { self[.isNudged] }
    set { self[.isNudged] = newValue }
  }
  /// To be started ahead of others and without a slot.
  package var leavesAhead: Bool {
    get { self[.leavesAhead] }
    set { self[.leavesAhead] = newValue }
  }
  /// Whether the layer above decides when its turn has come; doesn't change once it is a member.
  package var isAskedAtStart: Bool {
    get { self[.isAskedAtStart] }
    set { self[.isAskedAtStart] = newValue }
  }

  /// It executes, has given its slot back for a pause, and has not gone on: it is in the pause, or
  /// waits for its next turn.
  package var isPaused: Bool {
    get { self[.isPaused] }
    set { self[.isPaused] = newValue }
  }
  /// Its pause began while its turn was on the stack of a worker, whose report begins it for the
  /// queue.
  var pausesOnReturn: Bool {
    get { self[.pausesOnReturn] }
    set { self[.pausesOnReturn] = newValue }
  }
  /// That pause is over already.
  var isPauseOver: Bool {
    get { self[.isPauseOver] }
    set { self[.isPauseOver] = newValue }
  }

  /// Notes where it is from now on; ``SchedulerState/move(_:to:)`` does so, and changes the lines.
  mutating func move(to placement: Placement) {
    assert(
      self.placement.mayBecome(placement),
      "an operation moved from \(self.placement) to \(placement)"
    )
    TransitionTrace.note("Placement", "\(self.placement)", "\(placement)")
    self.placement = placement
  }

  /// The queue was abandoned: the operation is in no line, wherever it was.
  mutating func abandoned() {
    placement = .gone
    lineLinks = MemberLinks()
    heapIndex = -1
    holdsSlot = false
  }

  private subscript(flag: Flags) -> Bool {
    get { flags.contains(flag) }
    set { if newValue { flags.insert(flag) } else { flags.remove(flag) } }
  }
}
