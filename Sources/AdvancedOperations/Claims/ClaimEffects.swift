import CoreOperations

/// What is left to do after a change of the account, once its lock was given back.
enum ClaimEffect {
  /// It has slot and claims; its queue has to look.
  case slotReserved(any ClaimHolder)
  /// Its claims were free a moment ago.
  case reoffer(any ClaimHolder)
  /// It waits for something else than before, or has come to the front.
  case moved(any ClaimHolder)
  case setTimer(ClaimKey, number: UInt64, deadline: Duration, OperationClock)
  case cancelTimer(OperationTimer)
  /// What is first in its line has rates, and it isn't known what time it is by their clock.
  case lookAtClock(any ClaimHolder, OperationClock)
  /// An event for the tracer of the domain.
  case trace(ClaimEvent, Operation)
}

/// A list of effects that has room for one without an array: mostly there is no second.
struct ClaimEffects {
  private var first: ClaimEffect?
  private var others: [ClaimEffect] = []

  mutating func append(_ effect: ClaimEffect) {
    if first == nil { first = effect } else { others.append(effect) }
  }

  func forEach(_ body: (ClaimEffect) -> Void) {
    guard let first else { return }
    body(first)
    for effect in others { body(effect) }
  }
}
