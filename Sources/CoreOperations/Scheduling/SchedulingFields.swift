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
    /// In the line for a slot. Exits: `starting`, `waiting`, `service`, `gone`.
    case ready
    /// Was not allowed to start; without a slot, its turn kept. Exits: `ready`, `granted`, `service`, `gone`.
    case parked
    /// Has a slot and what it was parked for; a worker will start it, or is just asking whether it may
    /// and will find it so. Exit: `starting`.
    case granted
    /// Its turn came: a worker asks whether it may start, with a slot in hand, and starts it.
    /// Exits: `parked`, `granted`, `waiting`, `ready`, `service`, `gone`.
    case starting
    /// Finished, and its slot given back. No exit.
    case gone
  }

  var nextMember: Unmanaged<Operation>?
  var previousMember: Unmanaged<Operation>?
  var next: Unmanaged<Operation>?
  var previous: Unmanaged<Operation>?
  /// When it became ready, as a number: the order among equals.
  var ticket: UInt64 = 0
  /// How many barriers were added before it, counted since the queue was made.
  var segment: UInt64 = 0
  /// Its place in the heap of its level; -1 when it is in none.
  var heapIndex: Int32 = -1
  /// 0 for the most urgent priority to 4.
  var level: UInt8 = 2
  var placement = Placement.outside
  var isMember = false
  var holdsSlot = false
  var isFinished = false
  /// Finished, but slot and membership are kept until the layer above lets go.
  var isQuietHeld = false
  /// Its `start()` is on the stack of a worker that will report its return.
  var isOnStack = false
  /// Its completion block has not returned.
  var hasCompletion = false
  /// Something changed while a worker was asking.
  var isNudged = false
  /// To be started ahead of others and without a slot.
  var isAhead = false
  /// To be looked at by the layer above, without a slot, before it is ready again.
  var needsReview = false
}
