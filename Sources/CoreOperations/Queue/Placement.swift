/// The place of an operation in its queue.
enum Placement: UInt8, CaseIterable {
  /// The operation is a member that wasn't let in.
  case outside
  /// The operation waits for a dependency, or until its layer releases its hold.
  case waiting
  /// The operation waits only for a barrier that is in front of it.
  case behindBarrier
  /// The operation is in the service list, whose operations need no slot. Its conditions are to be evaluated,
  /// or it is to be started without being executed.
  case service
  /// The conditions of the operation are being evaluated.
  case evaluating
  /// The operation is in the waiting list for a slot.
  case ready
  /// The operation wasn't allowed to start. It has no slot, but keeps its position.
  case parked
  /// The operation has a slot, and has received the grant for which it was parked.
  ///
  /// A worker will start the operation. If a worker is evaluating whether the operation may start, that
  /// worker will find that it may.
  case granted
  /// A worker has a slot for the operation, evaluates whether the operation may start, and starts it. The
  /// operation keeps this placement while it executes.
  case started
  /// The operation is executing, but has no slot until its pause has ended.
  case paused
  /// The operation has finished, but keeps its slot or membership until the layer or a worker releases them.
  case ending
  /// The operation has finished, and has released its slot.
  case gone

  /// Whether an operation may change from this placement to another one.
  func mayBecome(_ next: Placement) -> Bool {
    switch (self, next) {
    case (.gone, _): false
    // The end of an operation may be reported in any placement.
    case (.ending, _): next == .gone
    case (_, .ending): true
    case (.outside, .waiting),
      (.waiting, .behindBarrier), (.waiting, .service), (.waiting, .ready),
      (.behindBarrier, .waiting), (.behindBarrier, .service),
      (.service, .waiting), (.service, .evaluating), (.service, .started),
      (.evaluating, .service), (.evaluating, .ready),
      (.ready, .waiting), (.ready, .service), (.ready, .started), (.ready, .paused),
      (.parked, .service), (.parked, .ready), (.parked, .granted), (.parked, .paused),
      (.granted, .started),
      (.started, .waiting), (.started, .parked), (.started, .granted),
      (.started, .paused),
      (.paused, .ready):
      true
    case (.outside, _), (.waiting, _), (.behindBarrier, _), (.service, _), (.evaluating, _),
      (.ready, _), (.parked, _), (.granted, _), (.started, _), (.paused, _):
      false
    }
  }
}
