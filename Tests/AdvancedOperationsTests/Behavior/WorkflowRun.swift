import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport

/// An order that is filled, in a simulated world: conditions, claims, retries, groups,
/// compensation.
final class WorkflowRun: Sendable {
  private static let cause = 99

  let world: World
  let queue: AdvancedOperationQueue
  let root: GroupOperation
  let steps: Counter
  /// All operations, also attempts and rounds.
  let made = Log<AdvancedOperation>()
  private let ends = Log<String>()
  private let done = Log<(group: String, work: String)>()
  private let undone = Log<(group: String, work: String)>()

  /// Makes the workflow, to be cancelled right before one of its steps.
  init(seed: UInt64, fails: Bool, cancelsAtStep step: Int?) {
    let world = World(seed: seed)
    let steps = Counter()
    let root = GroupOperation(name: "order", maxConcurrentOperationCount: 3)
    var environment = world.simulation.environment
    if let executor = environment.executor {
      environment.executor = SteppingExecutor(executor) {
        if steps.add() == step { root.cancel(withError: Flaw(Self.cause)) }
      }
    }
    self.world = world
    self.steps = steps
    self.root = root
    queue = AdvancedOperationQueue(environment: environment)
    queue.maxConcurrentOperationCount = 1
    build(fails: fails)
  }

  func play() {
    queue.addOperation(root)
    world.simulation.run()
  }

  // MARK: The parts

  private func made<Made: AdvancedOperation>(_ operation: Made, _ name: String) -> Made {
    operation.name = name
    made.add(operation)
    operation.onFinish { [ends] _, _ in ends.add(name) }
    return operation
  }

  /// Something that has to be undone when the group doesn't succeed.
  private func didWork(_ name: String, in group: GroupOperation) {
    done.add((group.name ?? "", name))
    group.onRollback { [undone, world] in
      let clock = world.simulation.environment.clock
      try await clock.sleep(until: clock.now + .seconds(1))
      undone.add((group.name ?? "", name))
    }
  }

  private func work(_ name: String, polite: Bool = false) -> Work {
    made(Work(policy: polite ? .whenFinishIsCalled : .finishImmediately), name)
  }

  private func build(fails: Bool) {
    let clock = world.simulation.environment.clock
    let root = root
    let open = made(ResultOperation { 1 }, "open")
    open.addCondition(
      BlockCondition("online") {
        try await clock.sleep(until: clock.now + .seconds(2))
        return true
      }
    )
    _ = root.addOperation(open)

    // Seven: reserved one at a time, at the second attempt.
    var reserved: [ResultOperation<Int>] = []
    for number in 0..<6 {
      let attempts = Counter()
      let name = "reserve \(number)"
      let reserve = made(
        open.then(retry: .constant(.seconds(3)).attempts(3).attemptTimeout(.seconds(60))) { one in
          if attempts.add() == 1 { throw Flaw(1) }
          try await clock.sleep(until: clock.now + .seconds(number))
          self.didWork(name, in: root)
          return one + number
        },
        name
      )
      reserve.addClaim(MutuallyExclusive("stock"))
      reserve.addCondition(Immediate("sold", always: .satisfied))
      reserved.append(reserve)
      _ = root.addOperation(reserve)
    }

    // Eighteen.
    let payment = made(makePayment(), "payment")
    for reserve in reserved { payment.addDependency(reserve) }
    _ = root.addOperation(payment)

    // Twenty-four: a step for each that was reserved.
    for (number, reserve) in reserved.enumerated() {
      let ship = made(reserve.then { $0 }, "ship \(number)")
      ship.addDependency(payment)
      ship.addCondition(NoFailedDependencies() && !NegatedCondition(Immediate("open")))
      ship.addClaim(MutuallyExclusive("truck", limit: 2))
      _ = root.addOperation(ship)
    }

    // Thirty.
    let skipped = work("gift")
    skipped.addCondition(Immediate(always: .skipped(reason: "nobody asked for it")))
    _ = root.addOperation(skipped)
    for number in 0..<3 {
      let notify = work("notify \(number)", polite: true)
      notify.addDependency(skipped)
      notify.addObserver(TimeoutObserver(.seconds(500), of: .all))
      _ = root.addOperation(notify)
    }
    _ = root.addOperation(
      made(
        RepeatOperation(times: 3, every: .seconds(5)) { round in self.work("round \(round)") },
        "poll"
      )
    )
    let last = made(ResultOperation { if fails { throw Flaw(7) } }, "close")
    last.addDependency(payment)
    _ = root.addOperation(last)
    made.add(root)
  }

  private func makePayment() -> GroupOperation {
    let clock = world.simulation.environment.clock
    let payment = GroupOperation(errorPolicy: .failFast, maxConcurrentOperationCount: 2)
    payment.name = "payment"
    let charges = (0..<3).map { number in
      let charge = made(
        ResultOperation { [root] in
          try await clock.sleep(until: clock.now + .seconds(2))
          self.didWork("charge \(number)", in: payment)
          self.didWork("charge \(number)", in: root)
        },
        "charge \(number)"
      )
      charge.addClaim(MutuallyExclusive("ledger"))
      return charge
    }
    let receipts = made(GroupOperation { charges }, "receipts")
    let pause = made(DelayOperation(.seconds(5)), "pause")
    let confirm = made(
      RetryOperation(retry: .exponential(.seconds(1)).jittered().attempts(3)) { attempt in
        self.made(
          ResultOperation {
            if attempt < 3 { throw Flaw(2) }
            self.didWork("confirm", in: payment)
          },
          "confirm \(attempt)"
        )
      },
      "confirm"
    )
    confirm.addDependency(pause)
    let book = work("book", polite: true)
    book.addClaim(MutuallyExclusive("ledger"))
    book.addDependency(receipts)
    for child in [receipts, pause, confirm, book] as [AdvancedOperation] {
      _ = payment.addOperation(child)
    }
    return payment
  }

  // MARK: What has to hold

  func undone(in group: GroupOperation) -> [String] {
    undone.entries.filter { $0.group == group.name }.map(\.work)
  }

  /// What is not as it should be after the world came to rest.
  var problems: [String] {
    var problems: [String] = []
    for operation in made.entries {
      if !operation.isFinished || operation.outcome == nil {
        problems.append("\(operation) hasn't finished")
      }
      let isConsistent =
        switch operation.outcome {
        case .succeeded, .skipped: operation.errors.isEmpty && !operation.isCancelled
        case .failed(let failure): !failure.elements.isEmpty && !operation.isCancelled
        case .cancelled: operation.isCancelled
        case nil: false
        }
      if !isConsistent { problems.append("\(operation) with \(operation.errors)") }
    }
    let names = made.entries.compactMap(\.name)
    for name in Set(names) where name != "order" {
      let (count, expected) = (
        ends.entries.filter { $0 == name }.count, names.filter { $0 == name }.count
      )
      if count != expected { problems.append("\(name) ended \(count) times, not \(expected)") }
    }
    if queue.operationCount > 0 { problems.append("the queue isn't empty") }
    problems += compensationProblems
    problems += outcomeProblems
    for claim in ["stock", "ledger", "truck"] where !isFree(claim) {
      problems.append("“\(claim)” is held")
    }
    return problems
  }

  private var compensationProblems: [String] {
    made.entries.compactMap { $0 as? GroupOperation }.compactMap { group in
      let done = done.entries.filter { $0.group == group.name }.map(\.work)
      // What an inner group did belongs to the outer one, once the inner has succeeded.
      let isKept = group.kind == .succeeded && root.kind == .succeeded
      let expected = isKept ? [] : Array(done.reversed())
      let undone = undone(in: group)
      return undone == expected
        ? nil : "\(group): undone \(undone) instead of \(expected)"
    }
  }

  private var outcomeProblems: [String] {
    guard let outcome = root.outcome else { return ["no outcome"] }
    let isCancelled = root.kind == .cancelled
    let lines = "\(outcome)".split(separator: "\n")
    let named = lines.filter { $0.hasSuffix("flaw \(Self.cause)") }.count
    if named != (isCancelled ? 1 : 0) { return ["the cause is named \(named) times: \(outcome)"] }
    if isCancelled, root.cancellationReason as? Flaw != Flaw(Self.cause) { return ["no reason"] }
    for case let child as AdvancedOperation in root.children where child.kind == .cancelled {
      if child.cancellationReason as? Flaw != Flaw(Self.cause) {
        return ["\(child) doesn't know why it was cancelled"]
      }
    }
    return []
  }

  private func isFree(_ name: String) -> Bool {
    let probe = Work("probe")
    probe.addClaim(MutuallyExclusive(name, limit: name == "truck" ? 2 : 1, whenBusy: .fail))
    queue.addOperation(probe)
    world.simulation.run()
    return probe.kind == .succeeded
  }
}

/// An executor in front of a simulated one, that says when a step is about to be taken.
final class SteppingExecutor: OperationExecutor, TaskExecutor {
  private let inner: any OperationExecutor
  private let willTakeStep: @Sendable () -> Void

  init(_ inner: any OperationExecutor, _ willTakeStep: @escaping @Sendable () -> Void) {
    self.inner = inner
    self.willTakeStep = willTakeStep
  }

  func enqueue(_ worker: @escaping @Sendable () -> Void) {
    inner.enqueue { [willTakeStep] in
      willTakeStep()
      worker()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    inner.enqueue { [self] in
      willTakeStep()
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// A worker starts one operation, so that each start is a step.
  var operationsPerWorker: Int { 1 }
}
