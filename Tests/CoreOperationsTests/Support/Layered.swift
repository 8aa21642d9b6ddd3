import CoreOperations

/// A layer above in its smallest form: closures answer, and a log says what was called.
final class Layered: Operation, LayeredOperation, @unchecked Sendable {
  // Sendable: `answers` has a lock.
  struct Answers {
    var holds = false
    var needsDidEnqueue = true
    var isAskedAtStart = true
    var isOverAtOnce = true
    var willEnqueue: @Sendable (Layered) -> Void = { _ in }
    var didEnqueue: @Sendable (Layered) -> Void = { _ in }
    var dependenciesDidFinish: @Sendable (Layered) -> LayerReadiness = { _ in .pending }
    var decideStart: @Sendable (Layered) -> StartDecision = { _ in .run }
    var grantedStartBegins: @Sendable (Layered) -> Void = { _ in }
    var start: @Sendable (Layered) -> Void = { _ in }
    var turnCameAgain: @Sendable (Layered) -> Void = { _ in }
    var askedForNeeds: @Sendable (Layered) -> Void = { _ in }
  }

  let log: Log<String>
  private let answers: Locked<Answers>
  private let reason = Locked<(any Error)?>(nil)

  init(
    _ name: String = "layered",
    log: Log<String> = Log<String>(),
    _ change: (inout sending Answers) -> Void = { _ in }
  ) {
    var answers = Answers()
    change(&answers)
    self.answers = Locked(answers)
    self.log = log
    super.init()
    self.name = name
    attachLayer()
  }

  func answer(_ change: (inout Answers) -> Void) { answers.withLock { change(&$0) } }

  private func note(_ event: String) { log.add("\(label) \(event)") }

  func willEnqueue(in queue: OperationQueue) -> AdmissionTerms {
    note("will enqueue")
    let answers = answers.withLock { $0 }
    answers.willEnqueue(self)
    return AdmissionTerms(
      isHeld: answers.holds,
      needsDidEnqueue: answers.needsDidEnqueue,
      isAskedAtStart: answers.isAskedAtStart
    )
  }

  func didEnqueue() {
    note("did enqueue")
    answers.withLock { $0 }.didEnqueue(self)
  }

  func dependenciesDidFinish() -> LayerReadiness {
    note("asked for conditions")
    return answers.withLock { $0 }.dependenciesDidFinish(self)
  }

  func decideStart() -> StartDecision {
    note("asked to start")
    return answers.withLock { $0 }.decideStart(self)
  }

  func grantedStartBegins() -> StartDecision {
    note("begins as granted")
    answers.withLock { $0 }.grantedStartBegins(self)
    return .run
  }

  func returnGrant() { note("held back") }

  func waitsForSlot(_ waits: Bool) { note(waits ? "waits for its slot" : "has its slot") }

  func turnCameAgain() {
    note("goes on")
    answers.withLock { $0 }.turnCameAgain(self)
  }

  func cancelSilently(reason: (any Error)?) {
    let isFirst = !isCancelled
    self.reason.withLock { if isFirst { $0 = reason } }
    flagCancelled()
  }
  var reasonOfCancel: (any Error)? { reason.withLock { $0 } }
  func releaseAsAbandoned() {}
  func deliverEvents() { leaveAhead() }

  func cancelAsMember(of cycle: OperationCycleError) {
    cancelSilently(reason: cycle)
    leaveAhead()
  }

  func breakCycle(_ cycle: [Operation]) -> Bool { false }
  var awaitedParent: Operation? { nil }
  var isAwaitedInLayer: Bool { false }
  var isIdle: Bool { isFinished }

  func layerWaits(_ part: Wait.Part) -> [Wait] {
    switch part {
    case .turn: answers.withLock { $0 }.askedForNeeds(self)
    case .connections, .execution: break
    }
    return []
  }

  override func cancel() {
    cancelSilently(reason: nil)
    deliverEvents()
  }

  override func start() {
    note(isCancelled ? "left" : "started")
    let answers = answers.withLock { $0 }
    answers.start(self)
    if isCancelled || answers.isOverAtOnce { end() }
  }

  /// What a layer does when all is over.
  func end() { finishAndClose(isHeldUntilIdle: false) }
}
