/// What a scheduler knows of one operation.
///
/// Guarded by the lock of that scheduler.
@safe
struct SchedulingFields {
  /// Where in its queue an operation is.
  enum Placement: UInt8 {
    /// Not let in. Exits: `waiting`, `service`.
    case outside
    /// Something is open. Exits: `heldBack`, `service`, `ready`, `gone`.
    case waiting
    /// Nothing is open, but a barrier is in front. Exits: `service`, `ready`, `gone`.
    case heldBack
    /// In the list of what needs no slot: conditions to ask, or a start of a cancelled or marked
    /// operation. Exits: `evaluating`, `starting`, `gone`.
    case service
    /// Its conditions are being asked. Exits: `ready`, `heldBack`, `service`, `gone`.
    case evaluating
    /// In the line for a slot. Exits: `starting`, `waiting`, `service`, `paused`, `gone`.
    case ready
    /// Was not allowed to start; without a slot, its turn kept. Exits: `ready`, `granted`, `service`,
    /// `paused`, `gone`.
    case parked
    /// Has a slot and what it was parked for; a worker will start it, or is just asking whether it may
    /// and will find it so. Exits: `starting`, `paused`.
    case granted
    /// Its turn came: a worker asks whether it may start, with a slot in hand, and starts it; it
    /// stays here while it executes. Exits: `parked`, `granted`, `waiting`, `ready`, `service`,
    /// `paused`, `gone`.
    case starting
    /// Executing, and without a slot until its pause is over. Exits: `ready`, `gone`.
    case paused
    /// Finished, and its slot given back. No exit.
    case gone
  }

  var nextMember: Unmanaged<Operation>?
  var previousMember: Unmanaged<Operation>?
  var next: Unmanaged<Operation>?
  var previous: Unmanaged<Operation>?
  /// When it became ready, as a number: the order among equals.
  var ticket: UInt64 = 0
  /// How many barriers were added before it, counted since the queue was made, modulo 2^32: only the
  /// distance to that of others means anything.
  var segment: UInt32 = 0
  /// Its place in the heap of its level; -1 when it is in none.
  var heapIndex: Int32 = -1
  /// 0 for the most urgent priority to 4.
  var level: UInt8 = 2
  var placement = Placement.outside
  private var flags: Flags = []

  private struct Flags: OptionSet {
    let rawValue: UInt16

    static let isMember = Flags(rawValue: 1)
    static let holdsSlot = Flags(rawValue: 1 << 1)
    static let isFinished = Flags(rawValue: 1 << 2)
    static let isQuietHeld = Flags(rawValue: 1 << 3)
    static let isOnStack = Flags(rawValue: 1 << 4)
    static let hasCompletion = Flags(rawValue: 1 << 5)
    static let isNudged = Flags(rawValue: 1 << 6)
    static let isAhead = Flags(rawValue: 1 << 7)
    static let needsReview = Flags(rawValue: 1 << 8)
    static let isAskedAtStart = Flags(rawValue: 1 << 9)
    static let isAskedAfterWait = Flags(rawValue: 1 << 10)
    static let hasWaited = Flags(rawValue: 1 << 11)
    static let isPaused = Flags(rawValue: 1 << 12)
    static let pausesOnReturn = Flags(rawValue: 1 << 13)
    static let isPauseOver = Flags(rawValue: 1 << 14)
  }

  var isMember: Bool {
    get { self[.isMember] }
    set { self[.isMember] = newValue }
  }
  var holdsSlot: Bool {
    get { self[.holdsSlot] }
    set { self[.holdsSlot] = newValue }
  }
  var isFinished: Bool {
    get { self[.isFinished] }
    set { self[.isFinished] = newValue }
  }
  /// Finished, but slot and membership are kept until the layer above lets go.
  var isQuietHeld: Bool {
    get { self[.isQuietHeld] }
    set { self[.isQuietHeld] = newValue }
  }
  /// Its `start()` is on the stack of a worker that will report its return.
  var isOnStack: Bool {
    get { self[.isOnStack] }
    set { self[.isOnStack] = newValue }
  }
  /// Its completion block has not returned.
  var hasCompletion: Bool {
    get { self[.hasCompletion] }
    set { self[.hasCompletion] = newValue }
  }
  /// Something changed while a worker was asking.
  var isNudged: Bool {
    get { self[.isNudged] }
    set { self[.isNudged] = newValue }
  }
  /// To be started ahead of others and without a slot.
  var isAhead: Bool {
    get { self[.isAhead] }
    set { self[.isAhead] = newValue }
  }
  /// To be looked at by the layer above, without a slot, before it is ready again.
  var needsReview: Bool {
    get { self[.needsReview] }
    set { self[.needsReview] = newValue }
  }

  /// Whether the layer above decides when its turn has come; doesn't change once it is a member.
  var isAskedAtStart: Bool {
    get { self[.isAskedAtStart] }
    set { self[.isAskedAtStart] = newValue }
  }

  /// Whether the layer above decides when its turn has come and it has waited since its hold was released;
  /// doesn't change once it is a member.
  var isAskedAfterWait: Bool {
    get { self[.isAskedAfterWait] }
    set { self[.isAskedAfterWait] = newValue }
  }
  /// Whether it has waited since its hold was released, other than in the line for a slot: that is known by
  /// its ticket.
  var hasWaited: Bool {
    get { self[.hasWaited] }
    set { self[.hasWaited] = newValue }
  }

  /// It executes, has given its slot back for a pause, and has not gone on: it is in the pause, or
  /// waits for its next turn.
  var isPaused: Bool {
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

  private subscript(flag: Flags) -> Bool {
    get { flags.contains(flag) }
    set { if newValue { flags.insert(flag) } else { flags.remove(flag) } }
  }
}
