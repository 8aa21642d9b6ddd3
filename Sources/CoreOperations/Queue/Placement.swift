/// Where in its queue an operation is.
package enum Placement: UInt8, CaseIterable {
  /// A member that wasn't let in.
  case outside
  /// Something is open: a dependency, or the hold of the layer.
  case waiting
  /// Nothing is open, but a barrier is in front.
  case behindBarrier
  /// In the line of what needs no slot: conditions to evaluate, or a start of an operation that
  /// will not execute.
  case service
  /// Its conditions are being evaluated.
  case evaluating
  /// In the line for a slot.
  case ready
  /// Was not allowed to start; without a slot, its turn kept.
  case parked
  /// Has a slot and what it was parked for. A worker will start it, or is just asking whether it
  /// may and will find it so.
  case granted
  /// Its turn came: a worker asks whether it may start, with a slot in hand, and starts it. It
  /// stays here while it executes.
  case started
  /// Executing, and without a slot until its pause is over.
  case paused
  /// Finished, but slot or membership are kept until the layer or a worker lets go of them.
  case ending
  /// Finished, and its slot given back.
  case gone

  /// Whether an operation may go from here to there.
  package func mayBecome(_ next: Placement) -> Bool {
    switch (self, next) {
    case (.gone, _): false
    // Its end may be reported wherever it is.
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
