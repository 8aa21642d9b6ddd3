/// The account itself: a plain value behind the lock of its domain.
struct ExclusivityState {
  /// What the caller does for a waiter after unlocking.
  enum Offer {
    /// It has slot and claims; its queue has to look.
    case slotReserved(AdvancedOperation)
    /// Its claims were free a moment ago.
    case tryAgain(AdvancedOperation, afterReview: Bool)
    /// The same for one that is in no queue.
    case reviewByHand(AdvancedOperation)
    /// It has its claims, and needs no slot.
    case runByHand(AdvancedOperation)
  }

  typealias Named = (name: String, request: ClaimRequest)

  struct Waiter {
    let operation: AdvancedOperation
    let requests: [ClaimRequest]
    let ticket: UInt64
    let needsReview: Bool
    let isByHand: Bool
    /// Whether it was told to try again and has not come back.
    var isOffered = false
  }

  private struct Resource {
    var holders: [AdvancedOperation] = []
    /// Tickets in order; those of waiters that went are skipped.
    var line: [(ticket: UInt64, id: ObjectIdentifier)] = []
    var next = 0
    var waiterCount = 0
    /// When it was given back last, by the account's own clock.
    var lastRelease: UInt64 = 0
    /// How many have asked their conditions and not taken it yet.
    var questionCount = 0

    var isUnused: Bool { holders.isEmpty && waiterCount == 0 && questionCount == 0 }

    mutating func dropGone(_ isGone: ((ticket: UInt64, id: ObjectIdentifier)) -> Bool) {
      while next < line.count, isGone(line[next]) { next += 1 }
      // Many may have gone from behind one that stays in front.
      if line.count > 32 + 2 * waiterCount {
        line.removeAll(where: isGone)
        next = 0
      }
    }
  }

  private var resources: [ClaimRequest.Key: Resource] = [:]
  private var waiters: [ObjectIdentifier: Waiter] = [:]
  private var holdings: [ObjectIdentifier: [ClaimRequest.Key]] = [:]
  /// When the conditions of operations with immediate ones were asked.
  private var questions: [ObjectIdentifier: (time: UInt64, keys: [ClaimRequest.Key])] = [:]
  private var lastTicket: UInt64 = 0
  /// Counts what was given back.
  private var time: UInt64 = 0

  init() {}

  mutating func conditionsAsked(_ keys: [ClaimRequest.Key], for operation: AdvancedOperation) {
    let id = ObjectIdentifier(operation)
    if questions[id] == nil {
      for key in keys { resources[key, default: Resource()].questionCount += 1 }
    }
    questions[id] = (time, keys)
  }

  mutating func forgetQuestion(of operation: AdvancedOperation) {
    guard let question = questions.removeValue(forKey: ObjectIdentifier(operation)) else { return }
    for key in question.keys {
      resources[key]?.questionCount -= 1
      forgetIfUnused(key)
    }
  }

  private func isOutdated(_ operation: AdvancedOperation) -> Bool {
    guard let question = questions[ObjectIdentifier(operation)] else { return false }
    return question.keys.contains { (resources[$0]?.lastRelease ?? 0) > question.time }
  }

  private func isFree(_ request: ClaimRequest) -> Bool {
    (resources[request.key]?.holders.count ?? 0) < request.limit
  }

  mutating func takeCalled(
    _ claims: [Named],
    for operation: AdvancedOperation,
    needsReview: Bool,
    isByHand: Bool
  ) -> ExclusivityDomain.Decision {
    let busy = claims.filter { !isFree($0.request) }
    // A refusal counts before anything is done to others.
    let first =
      busy.first { $0.request.whenBusy == .fail || $0.request.whenBusy == .skip }
      ?? busy.first { $0.request.whenBusy == .cancelHolder } ?? busy.first
    guard let first else {
      if isOutdated(operation) {
        wait(claims, operation, needsReview: needsReview, isByHand: isByHand)
        waiters[ObjectIdentifier(operation)]?.isOffered = true
        return .outdated
      }
      _ = withdrawn(operation)
      grant(claims.map(\.request), to: operation)
      return .granted
    }
    let holders = resources[first.request.key]?.holders ?? []
    switch first.request.whenBusy {
    case .fail:
      _ = withdrawn(operation)
      return .refused(claim: first.name, holders: holders)
    case .skip:
      _ = withdrawn(operation)
      return .skipped(claim: first.name, holders: holders)
    case .wait:
      wait(claims, operation, needsReview: needsReview, isByHand: isByHand)
      return .wait(cancelling: [])
    case .cancelHolder:
      wait(claims, operation, needsReview: needsReview, isByHand: isByHand)
      let inTheWay = busy.filter { $0.request.whenBusy == .cancelHolder }
        .flatMap { resources[$0.request.key]?.holders ?? [] }
      return .wait(cancelling: inTheWay)
    }
  }

  private mutating func grant(_ requests: [ClaimRequest], to operation: AdvancedOperation) {
    for request in requests {
      resources[request.key, default: Resource()].holders.append(operation)
    }
    holdings[ObjectIdentifier(operation)] = requests.map(\.key)
    forgetQuestion(of: operation)
  }

  private mutating func wait(
    _ claims: [Named],
    _ operation: AdvancedOperation,
    needsReview: Bool,
    isByHand: Bool
  ) {
    let id = ObjectIdentifier(operation)
    if waiters[id] != nil {
      // It tried again in vain, and keeps its place.
      waiters[id]?.isOffered = false
      return
    }
    lastTicket += 1
    let requests = claims.map(\.request)
    waiters[id] = Waiter(
      operation: operation,
      requests: requests,
      ticket: lastTicket,
      needsReview: needsReview,
      isByHand: isByHand
    )
    for request in requests {
      resources[request.key, default: Resource()].line.append((lastTicket, id))
      resources[request.key]?.waiterCount += 1
    }
  }

  /// Takes a waiter out, and gives its reference back to be released unlocked.
  mutating func withdrawn(_ operation: AdvancedOperation) -> Waiter? {
    guard let waiter = waiters.removeValue(forKey: ObjectIdentifier(operation)) else { return nil }
    for request in waiter.requests {
      resources[request.key]?.waiterCount -= 1
      forgetIfUnused(request.key)
    }
    return waiter
  }

  private mutating func forgetIfUnused(_ key: ClaimRequest.Key) {
    if resources[key]?.isUnused == true { resources[key] = nil }
  }

  mutating func releaseCalled(_ operation: AdvancedOperation) -> [Offer] {
    _ = withdrawn(operation)
    forgetQuestion(of: operation)
    guard let keys = holdings.removeValue(forKey: ObjectIdentifier(operation)) else { return [] }
    time += 1
    for key in keys {
      resources[key]?.holders.removeAll { $0 === operation }
      resources[key]?.lastRelease = time
    }
    var offers: [Offer] = []
    for key in keys { offerNext(key, &offers) }
    for key in keys { forgetIfUnused(key) }
    return offers
  }

  /// Goes through the line of a resource as long as there is room.
  private mutating func offerNext(_ key: ClaimRequest.Key, _ offers: inout [Offer]) {
    guard var resource = resources[key] else { return }
    resource.dropGone { waiters[$0.id]?.ticket != $0.ticket }
    resources[key] = resource
    for entry in resource.line[resource.next...] {
      guard let waiter = waiters[entry.id], waiter.ticket == entry.ticket, !waiter.isOffered else {
        continue
      }
      guard let own = waiter.requests.first(where: { $0.key == key }), isFree(own) else { return }
      if waiter.requests.allSatisfy(isFree) { offer(waiter, &offers) }
    }
  }

  private mutating func offer(_ waiter: Waiter, _ offers: inout [Offer]) {
    let operation = waiter.operation
    if !waiter.needsReview && (waiter.isByHand || operation.reserveSlot()) {
      _ = withdrawn(operation)
      grant(waiter.requests, to: operation)
      offers.append(waiter.isByHand ? .runByHand(operation) : .slotReserved(operation))
    } else {
      waiters[ObjectIdentifier(operation)]?.isOffered = true
      offers.append(
        waiter.isByHand
          ? .reviewByHand(operation) : .tryAgain(operation, afterReview: waiter.needsReview)
      )
    }
  }
}
