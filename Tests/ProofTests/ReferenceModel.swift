import AdvancedOperations
import AdvancedTestSupport

/// What a workflow may do, written down as plainly as possible: no locks, no queues, no states,
/// only what has happened and what follows.
///
/// It is told of each event in order, and says which of them may not happen. All that it knows of
/// an operation is in its ``Plan``.
struct ReferenceModel {
  enum Verdict { case satisfied, failed, skipped }
  enum Rule { case noFailedDependencies, noCancelledDependencies }
  enum Busy { case wait, fail, skip, cancelHolder }
  enum Ending: String { case succeeded, failed, cancelled, skipped }

  struct Claim {
    var name: String
    var limit: Int
    var busy: Busy
  }

  struct Plan {
    var queue = 0
    var dependencies: [Int] = []
    var verdicts: [Verdict] = []
    var rules: [Rule] = []
    var claims: [Claim] = []
    var bodyFails = false
    var priority = 0
    /// How often the body is run; between two of them it has neither slot nor claims.
    var attempts = 1
    var isUnconditional: Bool { verdicts.isEmpty && rules.isEmpty }
    /// Whether nothing but dependencies, slots and its priority decide when it starts.
    var isPlain: Bool { isUnconditional && claims.isEmpty }
  }

  struct Queue {
    /// Negative for none.
    var limit = -1
    var mayBeSuspended = false
  }

  enum Event: CustomStringConvertible {
    case cancelCalled(Int)
    case told(Int, String)
    case claims(Int, ClaimEvent)
    case finished(Int, Ending, errorCount: Int)
    /// Its body has failed and will be run again.
    case attemptFailed(Int)
    /// Its body is run again.
    case attemptBegan(Int)
    /// It is finished and its body has ended.
    case idle(Int)

    var description: String {
      switch self {
      case .cancelCalled(let number): "cancel \(number)"
      case .told(let number, let what): "\(number) \(what)"
      case .claims(let number, let what): "\(number) claims \(what)"
      case .finished(let number, let ending, let count): "\(number) \(ending), \(count) errors"
      case .attemptFailed(let number): "\(number) failed, and tries again"
      case .attemptBegan(let number): "\(number) is tried again"
      case .idle(let number): "\(number) quiet"
      }
    }
  }

  /// What has happened to an operation, and when.
  struct Past {
    var isFlagged = false
    var isDecided = false
    var readyAt: Int?
    var startedAt: Int?
    var ending: Ending?
    var quietAt: Int?
    var waitsSince: Int?
    var tookAt: Int?
    var gaveBackAt: Int?
    var failedCount = 0
    /// An attempt has failed, and the next has not begun.
    var isPaused = false
    /// It has taken its claims, with a slot, for the attempt that has not begun.
    var hasTakenAgain = false
    /// When it took the claims that it had before it paused last.
    var tookBefore: Int?
    /// How a claim that was busy may have ended it.
    var busyEndings: Set<Ending> = []

    /// Claims come with a slot, before anybody is told of the start.
    var holdsSlot: Bool {
      quietAt == nil && (isPaused ? hasTakenAgain : (startedAt ?? tookAt) != nil)
    }
    /// Slot and claims are given back in either order, from its end on until it is quiet.
    var mayHaveFreedSlot: Bool { ending != nil }
    var holdsClaims: Bool { tookAt != nil && gaveBackAt == nil }
    var isWaiting: Bool { waitsSince != nil && tookAt == nil && ending == nil && !isFlagged }
    var mayStart: Bool { startedAt == nil && ending == nil && !isFlagged }
  }

  let plans: [Plan]
  let queues: [Queue]
  var past: [Past]
  private(set) var problems: [String] = []
  private(set) var time = 0
  /// When an operation last ended that had a slot, and may have given it back.
  private var lastFreed: [Int]

  init(plans: [Plan], queues: [Queue]) {
    self.plans = plans
    self.queues = queues
    past = plans.map { Past(readyAt: $0.dependencies.isEmpty ? 0 : nil) }
    lastFreed = queues.map { _ in 0 }
  }

  mutating func happened(_ event: Event) {
    time += 1
    switch event {
    case .cancelCalled(let number): if !past[number].isDecided { past[number].isFlagged = true }
    case .told(let number, "cancelled"): cancelled(number)
    case .told(let number, "started"): started(number)
    case .told(let number, "willFinish"): past[number].isDecided = true
    case .told: break
    case .claims(let number, .waits): past[number].waitsSince = time
    case .claims(let number, .taken): took(number)
    case .claims(let number, .givenBack): gaveBack(number)
    case .finished(let number, let ending, let count): finished(number, ending, count)
    case .attemptFailed(let number): attemptFailed(number)
    case .attemptBegan(let number): attemptBegan(number)
    case .idle(let number): past[number].quietAt = time
    }
    noteBusy()
  }

  // MARK: What may happen

  private mutating func cancelled(_ number: Int) {
    if past[number].isFlagged { return }
    let isTakenOver = plans.indices.contains { mayTakeOver($0, from: number) }
    if !isTakenOver { complain(number, "was cancelled by nobody") }
    past[number].isFlagged = true
  }

  private mutating func started(_ number: Int) {
    let plan = plans[number]
    if past[number].startedAt != nil { complain(number, "started twice") }
    checkSlot(of: number, "started")
    if !plan.claims.isEmpty && !past[number].holdsClaims {
      complain(number, "started without its claims")
    }
    if queues[plan.queue].limit == 1 { checkTurn(of: number) }
    past[number].startedAt = time
  }

  private mutating func attemptFailed(_ number: Int) {
    past[number].failedCount += 1
    past[number].isPaused = true
    past[number].hasTakenAgain = false
    lastFreed[plans[number].queue] = time
  }

  private mutating func attemptBegan(_ number: Int) {
    let past = past[number]
    if !past.isPaused { complain(number, "is tried again beside itself") }
    if past.failedCount >= plans[number].attempts { complain(number, "is tried too often") }
    if past.ending != nil { complain(number, "is tried again after its end") }
    if !plans[number].claims.isEmpty && !(past.hasTakenAgain && past.holdsClaims) {
      complain(number, "is tried again without its claims")
    }
    // One that was cancelled after it had all it needs may begin, and finds that out.
    checkLimit(of: number, "is tried again")
    self.past[number].isPaused = false
  }

  /// What has to be so for an operation to get a slot, and stays so until it starts.
  mutating func checkSlot(of number: Int, _ what: String) {
    let plan = plans[number]
    if past[number].isFlagged { complain(number, "\(what) though it was cancelled") }
    for dependency in plan.dependencies where past[dependency].ending == nil {
      complain(number, "\(what) before \(dependency) had finished")
    }
    if verdict(of: number) != .satisfied { complain(number, "\(what) against its conditions") }
    checkLimit(of: number, what)
  }

  private mutating func checkLimit(of number: Int, _ what: String) {
    let plan = plans[number]
    let others = holdersOfSlots(besides: number)
    let limit = queues[plan.queue].limit
    if limit >= 0 && others.count >= limit {
      complain(number, "\(what) beside \(others), the limit is \(limit)")
    }
  }

  /// Those of an operation's queue that certainly have a slot.
  private func holdersOfSlots(besides number: Int) -> [Int] {
    plans.indices.filter { other in
      other != number && plans[other].queue == plans[number].queue && past[other].holdsSlot
        && !past[other].mayHaveFreedSlot
    }
  }

  /// Of two that could be started at the last decision, the more urgent one is, or the one that was
  /// added first.
  private mutating func checkTurn(of number: Int) {
    guard plans[number].isPlain, let own = past[number].readyAt else { return }
    let decision = max(lastFreed[plans[number].queue], own)
    for other in plans.indices
    where other != number && plans[other].queue == plans[number].queue && plans[other].isPlain
      && past[other].mayStart
    {
      guard let since = past[other].readyAt, since < decision else { continue }
      if plans[other].priority > plans[number].priority {
        complain(number, "overtook \(other), which is more urgent")
      } else if plans[other].priority == plans[number].priority, other < number {
        complain(number, "overtook \(other), which was added before")
      }
    }
  }

  private mutating func finished(_ number: Int, _ ending: Ending, _ errorCount: Int) {
    if past[number].ending != nil { complain(number, "finished twice") }
    let allowed = allowedEndings(of: number)
    if !allowed.contains(ending) {
      complain(number, "is \(ending), and may be \(allowed.map(\.rawValue).sorted())")
    }
    if ending == .succeeded || ending == .skipped, errorCount != 0 {
      complain(number, "is \(ending) with \(errorCount) errors")
    }
    if ending == .failed, past[number].startedAt == nil, verdict(of: number) == .failed,
      errorCount != failureCount(of: number), !mayHaveLeftEarly(number, with: errorCount)
    {
      complain(number, "has \(errorCount) errors of \(failureCount(of: number)) conditions")
    }
    past[number].ending = ending
    if past[number].holdsSlot { lastFreed[plans[number].queue] = time }
    for other in plans.indices
    where past[other].readyAt == nil
      && plans[other].dependencies.allSatisfy({ past[$0].ending != nil })
    {
      past[other].readyAt = time
    }
  }

  private func allowedEndings(of number: Int) -> Set<Ending> {
    if past[number].isFlagged { return [.cancelled] }
    if past[number].startedAt != nil { return [plans[number].bodyFails ? .failed : .succeeded] }
    switch verdict(of: number) {
    case .failed: return [.failed]
    case .skipped: return [.skipped]
    case .satisfied: return past[number].busyEndings
    }
  }

  private func verdict(of number: Int) -> Verdict {
    if failureCount(of: number) > 0 { return .failed }
    return plans[number].verdicts.contains { $0 == .skipped } ? .skipped : .satisfied
  }

  private func failureCount(of number: Int) -> Int {
    plans[number].verdicts.filter { $0 == .failed }.count + brokenRuleCount(of: number)
  }

  /// One whose rule is broken by a dependency doesn't wait for the others, and evaluates no other
  /// condition.
  private func mayHaveLeftEarly(_ number: Int, with errorCount: Int) -> Bool {
    plans[number].dependencies.count > 1 && errorCount > 0
      && errorCount <= brokenRuleCount(of: number)
  }

  private func brokenRuleCount(of number: Int) -> Int {
    let plan = plans[number]
    return plan.rules.count { rule in
      plan.dependencies.contains { dependency in
        switch rule {
        case .noFailedDependencies: past[dependency].ending == .failed
        case .noCancelledDependencies: past[dependency].ending == .cancelled
        }
      }
    }
  }

  mutating func complain(_ number: Int, _ text: String) {
    problems.append("\(number) \(text)")
  }

  /// What is missing, now that nothing can happen any more.
  mutating func end() {
    for number in plans.indices {
      if past[number].ending == nil { complain(number, "never ended") }
      if past[number].holdsClaims { complain(number, "kept its claims") }
    }
  }
}
