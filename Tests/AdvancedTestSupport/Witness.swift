package import AdvancedOperations
import AdvancedOperationsTesting

/// What must hold of every run, whatever its order, as far as it can be seen from outside.
package final class Witness: OperationObserver {
  package struct Violation: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  private struct State {
    var operations: [AdvancedOperation] = []
    var told: [ObjectIdentifier: [String]] = [:]
    var bodies: [ObjectIdentifier: Int] = [:]
    var inside = 0
    var violations: [String] = []
  }

  private let state = Locked(State())
  /// Whether dependencies may be added while their operation starts, which then may not see them.
  private let allowsLateDependencies: Bool

  package init(allowsLateDependencies: Bool = false) {
    self.allowsLateDependencies = allowsLateDependencies
  }

  /// Watches operations; before they are added to a queue.
  package func watch(_ operations: [AdvancedOperation]) {
    state.withLock { $0.operations += operations }
    for operation in operations { operation.addObserver(self) }
  }

  package func complain(_ text: String) { state.withLock { $0.violations.append(text) } }

  private func tell(_ operation: AdvancedOperation, _ event: String) {
    state.withLock { $0.told[ObjectIdentifier(operation), default: []].append(event) }
  }

  package func operationDidEnqueue(_ operation: AdvancedOperation) { tell(operation, "enqueued") }
  package func operationDidStart(_ operation: AdvancedOperation) { tell(operation, "started") }
  package func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    tell(operation, "cancelled")
    if !operation.isCancelled { complain("\(operation) was told of a cancel without the flag") }
  }
  package func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    tell(operation, "willFinish")
  }
  package func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    tell(operation, "finished")
    if operation.isFinished { complain("\(operation) was finished before its observers were told") }
  }

  // MARK: Bodies

  /// What every body of a watched operation calls first.
  package func entered(_ operation: AdvancedOperation) {
    let open = operation.dependencies.filter { !$0.isFinished }
    state.withLock { state in
      state.bodies[ObjectIdentifier(operation), default: 0] += 1
      if !open.isEmpty && !allowsLateDependencies {
        state.violations.append("\(operation) ran before \(open)")
      }
    }
  }

  /// Begins something that only so many may do at a time.
  package func enter(limit: Int = 1) {
    state.withLock { state in
      state.inside += 1
      if state.inside > limit { state.violations.append("\(state.inside) were inside at once") }
    }
  }

  package func leave() { state.withLock { $0.inside -= 1 } }

  package func ran(_ operation: AdvancedOperation) -> Bool {
    state.withLock { $0.bodies[ObjectIdentifier(operation)] != nil }
  }

  // MARK: At the end

  /// Throws what was seen to be wrong, now that nothing can happen any more.
  package func check(_ queues: AdvancedOperationQueue...) throws {
    var violations = state.withLock { $0.violations }
    let (operations, told, bodies) = state.withLock { ($0.operations, $0.told, $0.bodies) }
    for operation in operations {
      let events = told[ObjectIdentifier(operation)] ?? []
      if !operation.isFinished {
        violations.append("\(operation) never ended")
        continue
      }
      let count = bodies[ObjectIdentifier(operation)] ?? 0
      if count > 1 { violations.append("\(operation) ran \(count) times") }
      let isStarted = events.contains("started")
      if count > 0 && !isStarted { violations.append("\(operation) ran and was told \(events)") }
      if isStarted, count == 0, operation is Watched, operation.isCancelled {
        violations.append("\(operation) didn't run and was told \(events)")
      }
      if events.filter({ $0 == "finished" }).count != 1 {
        violations.append("\(operation) was told \(events)")
      }
      let order = ["enqueued", "started", "willFinish", "finished"]
      if events.filter({ $0 != "cancelled" }) != order.filter(events.contains) {
        violations.append("\(operation) was told in this order: \(events)")
      }
      if events.last != "finished" { violations.append("\(operation) was told after its end") }
      guard let outcome = operation.outcome else {
        violations.append("\(operation) has no outcome")
        continue
      }
      switch outcome {
      case .succeeded, .skipped:
        if !operation.errors.isEmpty { violations.append("\(operation) has errors") }
        if operation.isCancelled { violations.append("\(operation) is cancelled") }
      case .failed: if operation.isCancelled { violations.append("\(operation) is cancelled") }
      case .cancelled:
        if !operation.isCancelled { violations.append("\(operation) isn't cancelled") }
      }
      if events.contains("cancelled") != operation.isCancelled {
        violations.append("\(operation): \(events)")
      }
    }
    for queue in queues where queue.operationCount != 0 {
      violations.append("the queue still has \(queue.operations)")
    }
    if state.withLock({ $0.inside }) != 0 { violations.append("somebody is still inside") }
    if !violations.isEmpty { throw Violation(description: violations.joined(separator: "; ")) }
  }
}

/// An operation whose body is watched; it ends in its body, or a step later.
package final class Watched: AdvancedOperation, @unchecked Sendable {
  private let witness: Witness
  private let body: (@Sendable (Watched) -> Void)?
  private let isExclusive: Bool

  package init(
    _ name: String,
    _ witness: Witness,
    isExclusive: Bool = false,
    _ body: (@Sendable (Watched) -> Void)? = nil
  ) {
    self.witness = witness
    self.body = body
    self.isExclusive = isExclusive
    super.init()
    self.name = name
  }

  package override func execute() {
    witness.entered(self)
    if isExclusive { witness.enter() }
    if let body { body(self) } else { finish() }
    if isExclusive { witness.leave() }
  }
}
