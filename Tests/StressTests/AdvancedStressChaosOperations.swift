import AdvancedOperations
import AdvancedTestSupport
import Dispatch
import Testing

/// What the stress tests of whole workflows are made of.
enum AdvancedStress {
  struct Flaw: Error {}

  /// Watches one operation: each event once, in order, never two at a time, states only forward.
  final class Watch: OperationObserver {
    private struct State {
      var events: [String] = []
      var inside = 0
      var state = AdvancedOperation.State.pending
      var problems: [String] = []
    }

    private static let order = ["enqueued", "started", "cancelled", "willFinish", "finished"]
    private let state = Locked(State())

    var problems: [String] { state.withLock { $0.problems } }
    var events: [String] { state.withLock { $0.events } }

    private func tell(_ event: String, of operation: AdvancedOperation) {
      let now = operation.state
      state.withLock { state in
        state.inside += 1
        if state.inside > 1 { state.problems.append("\(event) overlaps") }
        if now < state.state { state.problems.append("\(state.state) back to \(now)") }
        state.state = max(state.state, now)
        if event != "progress" && event != "produced" {
          if state.events.contains(event) { state.problems.append("\(event) twice") }
          state.events.append(event)
        }
        if state.events.dropLast().contains("finished") {
          state.problems.append("\(event) after finished")
        }
      }
      // A window for others to get in.
      operation.updateProgress(completed: 1, total: 2)
      state.withLock { $0.inside -= 1 }
    }

    /// What a finished operation must look like.
    func check(_ operation: AdvancedOperation) -> [String] {
      var problems = problems
      let events = events
      if Array(events.suffix(2)) != ["willFinish", "finished"] { problems.append("\(events)") }
      switch operation.outcome {
      case .succeeded, .skipped:
        if !operation.errors.isEmpty { problems.append("errors without failure") }
        if operation.isCancelled { problems.append("cancelled, and no outcome of it") }
      case .failed:
        if operation.errors.isEmpty { problems.append("a failure without errors") }
        if operation.isCancelled { problems.append("cancelled, but failed") }
      case .cancelled:
        if !operation.isCancelled { problems.append("not cancelled, but with that outcome") }
        if !events.contains("cancelled") { problems.append("nobody was told of the cancel") }
      case nil: problems.append("no outcome")
      }
      return problems.map { "\(operation): \($0)" }
    }

    func operationDidEnqueue(_ operation: AdvancedOperation) { tell("enqueued", of: operation) }
    func operationDidStart(_ operation: AdvancedOperation) { tell("started", of: operation) }
    func operation(_ operation: AdvancedOperation, didProduce newOperation: AdvancedOperation) {
      tell("produced", of: operation)
    }
    func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
      tell("cancelled", of: operation)
    }
    func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      tell("willFinish", of: operation)
    }
    func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      tell("finished", of: operation)
    }
  }

  /// Says whether it is alive, and counts executions; ends its work as it was told to.
  final class Work: AdvancedOperation, @unchecked Sendable {
    // Sendable: all stored properties are immutable.
    enum Ending: CaseIterable, Sendable {
      case finishes, fails, finishesElsewhere, finishesTwice, cancelsItself, cancelsElsewhere
    }

    private let live: CoreStress.Live
    private let ending: Ending
    private let policy: CancellationPolicy
    private let inside: CoreStress.Tally?
    let executions = CoreStress.Tally()

    init(
      _ live: CoreStress.Live,
      _ ending: Ending,
      policy: CancellationPolicy = .finishImmediately,
      inside: CoreStress.Tally? = nil
    ) {
      self.live = live
      self.ending = ending
      self.policy = policy
      self.inside = inside
      super.init()
      live.born()
    }

    deinit { live.died() }

    override var cancellationPolicy: CancellationPolicy { policy }

    override func execute() {
      executions.add()
      inside?.add()
      switch ending {
      case .finishes: finish()
      case .fails: finish(withError: Flaw())
      case .finishesElsewhere: DispatchQueue.global().async { self.finish() }
      case .finishesTwice:
        DispatchQueue.global().async { self.finish() }
        finish()
      case .cancelsItself:
        cancel(withError: Flaw())
        finish()
      case .cancelsElsewhere:
        DispatchQueue.global().async {
          self.cancel()
          self.finish()
        }
      }
      inside?.add(-1)
    }
  }

  /// Counts how many are inside of one claim; the claim is held until the body ended.
  struct Exclusive: Sendable {
    let name: String
    let limit: Int
    let inside = CoreStress.Tally()

    func claim(_ whenBusy: WhenBusy) -> any OperationClaim {
      MutuallyExclusive(name, limit: limit, whenBusy: whenBusy)
    }
  }
}
