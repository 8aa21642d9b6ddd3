import CoreOperations

/// What is left to do after a change of the account, once its lock was given back.
enum ClaimEffect {
  /// It has slot and claims; its queue has to look.
  case slotReserved(AdvancedOperation)
  /// Its claims were free a moment ago.
  case reoffer(AdvancedOperation, afterReview: Bool)
  /// The same for one that is in no queue.
  case reofferByHand(AdvancedOperation)
  /// It has its claims, and needs no slot.
  case runByHand(AdvancedOperation)
  /// It waits for something else than before, or has come to the front.
  case moved(AdvancedOperation)
  case setTimer(ClaimKey, number: UInt64, deadline: Duration, OperationClock)
  case cancelTimer(OperationTimer)
  /// An event for the tracer of the domain.
  case trace(ClaimEvent, AdvancedOperation)
}

/// A list of effects that has room for one without an array: mostly there is no second.
struct ClaimEffects {
  private var first: ClaimEffect?
  private var others: [ClaimEffect] = []

  init() {}

  mutating func append(_ effect: ClaimEffect) {
    if first == nil { first = effect } else { others.append(effect) }
  }

  func forEach(_ body: (ClaimEffect) -> Void) {
    guard let first else { return }
    body(first)
    for effect in others { body(effect) }
  }
}
