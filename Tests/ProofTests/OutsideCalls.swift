import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport

/// What anybody may call at any time.
enum OutsideCall: CaseIterable, Sendable {
  case finish, cancel, addDependency, removeDependency, addOperation, addBarrier, suspend, limit

  private struct Reason: Error {}

  func make(on scene: OutsideScene.Made, in simulation: SimulatedEnvironment) {
    let (target, queue) = (scene.target, scene.queue)
    switch self {
    case .finish: if target.state == .executing { target.finish() }
    case .cancel: target.cancel(withError: Reason())
    case .addDependency:
      let other = scene.tracked(AdvancedOperation())
      target.addDependency(other)
      queue.addOperation(other)
    case .removeDependency: for before in target.dependencies { target.removeDependency(before) }
    case .addOperation:
      let late = AdvancedOperation()
      guard let group = target as? GroupOperation else { return queue.addOperation(late) }
      if group.addOperation(late) { _ = scene.tracked(late) }
    case .addBarrier:
      // A cycle, unless the target has begun.
      queue.addBarrierBlock {}
      let behind = scene.tracked(AdvancedOperation())
      target.addDependency(behind)
      queue.addOperation(behind)
    case .suspend:
      queue.isSuspended = true
      simulation.addStep("resume") { queue.isSuspended = false }
    case .limit:
      queue.maxConcurrentOperationCount = 0
      simulation.addStep("raise the limit") { queue.maxConcurrentOperationCount = 1 }
    }
  }
}

/// A small workflow with an operation on which something is called while it goes on.
struct OutsideScene: Sendable, CustomStringConvertible {
  /// What was made for one run.
  final class Made: Sendable {
    let queue: AdvancedOperationQueue
    let target: AdvancedOperation
    let history: EndHistory

    init(_ target: AdvancedOperation, in queue: AdvancedOperationQueue, _ history: EndHistory) {
      self.target = target
      self.queue = queue
      self.history = history
    }

    func tracked<T: AdvancedOperation>(_ operation: T) -> T { history.track(operation) }
  }

  let description: String
  private let make: @Sendable (SimulatedEnvironment, AdvancedOperationQueue, EndHistory) -> Made

  private init(
    _ description: String,
    make:
      @escaping @Sendable (SimulatedEnvironment, AdvancedOperationQueue, EndHistory) ->
      AdvancedOperation
  ) {
    self.description = description
    self.make = { simulation, queue, history in
      Made(make(simulation, queue, history), in: queue, history)
    }
  }

  /// Lets everything happen, with a call somewhere in between, and throws if something stays
  /// behind.
  // Interrupted, the last owner of what was made may be a thread on its way out.
  func run(
    _ call: OutsideCall,
    in simulation: SimulatedEnvironment,
    isInterrupted: Bool = false
  ) throws {
    let history = EndHistory()
    // What was made is released when this returns.
    try run(call, in: simulation, history)
    if !isInterrupted { try history.expectReleased() }
  }

  private func run(
    _ call: OutsideCall,
    in simulation: SimulatedEnvironment,
    _ history: EndHistory
  ) throws {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = 1
    let made = make(simulation, queue, history)
    simulation.addStep("\(call)") { call.make(on: made, in: simulation) }
    simulation.run()
    try history.expectEnded()
    if queue.operationCount > 0 {
      throw Witness.Violation(description: "the queue still has \(queue.operations)")
    }
    let next = AdvancedOperation()
    next.addClaim(MutuallyExclusive("claim", whenBusy: .fail))
    queue.addOperation(next)
    simulation.run()
    if next.outcome?.isSuccess != true {
      throw Witness.Violation(description: "a claim was not given back: \(next.errors)")
    }
  }

  // MARK: The scenes

  private struct Flaw: Error {}

  /// Ends in a later step.
  private static func open(
    _ name: String,
    _ simulation: SimulatedEnvironment,
    _ history: EndHistory
  ) -> AdvancedOperation {
    let witness = Witness(allowsLateDependencies: true)
    return history.track(
      Watched(name, witness) { operation in
        simulation.addStep("end of \(name)") { operation.finish() }
      }
    )
  }

  static let all = [
    OutsideScene("a chain") { simulation, queue, history in
      let before = open("before", simulation, history)
      let target = open("target", simulation, history)
      target.addDependency(before)
      target.addClaim(MutuallyExclusive("claim"))
      let after = BlockOperation {}
      after.addDependency(target)
      queue.addOperations([before, target, after])
      return target
    },
    OutsideScene("a group with an open child") { simulation, queue, history in
      let before = history.track(AdvancedOperation())
      let child = open("child", simulation, history)
      let plain = BlockOperation {}
      plain.addDependency(child)
      let group = GroupOperation(name: "group", errorPolicy: .failFast) {
        child
        plain
      }
      group.onRollback {}
      group.addDependency(before)
      queue.addOperations([before, history.track(group)])
      return group
    },
    OutsideScene("claims inside of a group") { simulation, queue, history in
      let children = ["a", "b"].map { name in
        let child = open(name, simulation, history)
        child.addClaim(MutuallyExclusive("claim"))
        return child
      }
      let group = GroupOperation(name: "group") { children }
      group.addClaim(MutuallyExclusive("claim"))
      queue.addOperation(history.track(group))
      return group
    },
    OutsideScene("a condition with a prerequisite") { simulation, queue, history in
      let target = open("target", simulation, history)
      target.addDependency(history.track(AdvancedOperation()))
      queue.addOperations(target.dependencies)
      target.addCondition(
        Helped { open("prerequisite", simulation, history) }
      )
      target.addClaim(MutuallyExclusive("claim"))
      queue.addOperation(target)
      return target
    },
    OutsideScene("a retry") { simulation, queue, history in
      let count = Locked(0)
      let target = history.track(
        ResultOperation(name: "target", retry: .constant(.seconds(1)).attempts(3)) {
          let number = count.withLock { count in
            count += 1
            return count
          }
          if number < 2 { throw Flaw() }
        }
      )
      target.addClaim(MutuallyExclusive("claim"))
      queue.addOperation(target)
      return target
    },
    OutsideScene("a scope") { simulation, queue, history in
      let environment = simulation.environment
      let inner = open("inner", simulation, history)
      inner.addClaim(MutuallyExclusive("claim"))
      let target = history.track(
        ResultOperation(name: "target") {
          try await withOperations(environment: environment) { scope in
            scope.add(inner)
            let plain = BlockOperation {}
            plain.addDependency(inner)
            scope.add(plain)
          }
        }
      )
      queue.addOperation(target)
      return target
    },
  ]

  private struct Helped: OperationCondition {
    let makePrerequisite: @Sendable () -> AdvancedOperation
    func dependency(for operation: AdvancedOperation) -> AdvancedOperation? { makePrerequisite() }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      await Task.yield()
      return .satisfied
    }
  }
}

/// How often each of some operations has ended, and whether it is still alive.
final class EndHistory: Sendable {
  private final class Count: OperationObserver {
    let name: String
    let ends = Locked(0)
    let wasEnqueued = Locked(false)
    private let operation: Locked<Weak>

    private struct Weak {
      weak var operation: AdvancedOperation?
    }

    init(_ operation: AdvancedOperation) {
      name = operation.name ?? "\(type(of: operation))"
      self.operation = Locked(Weak(operation: operation))
    }

    var isAlive: Bool { operation.withLock { $0.operation != nil } }

    func operationDidEnqueue(_ operation: AdvancedOperation) { wasEnqueued.withLock { $0 = true } }

    func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      ends.withLock { $0 += 1 }
    }
  }

  private let counts = Locked<[Count]>([])

  func track<T: AdvancedOperation>(_ operation: T) -> T {
    let count = Count(operation)
    counts.withLock { $0.append(count) }
    operation.addObserver(count)
    return operation
  }

  func expectEnded() throws {
    for count in counts.withLock({ $0 }) {
      let ends = count.ends.withLock { $0 }
      let isExpected = count.wasEnqueued.withLock { $0 }
      if ends > 1 || isExpected && ends == 0 {
        throw Witness.Violation(description: "\(count.name) ended \(ends) times")
      }
    }
  }

  func expectReleased() throws {
    for count in counts.withLock({ $0 }) where count.isAlive {
      throw Witness.Violation(description: "\(count.name) is still alive")
    }
  }
}
