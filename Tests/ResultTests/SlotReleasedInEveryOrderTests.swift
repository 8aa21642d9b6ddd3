import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// Two operations that release their slot in their bodies, and one thing that comes in between at
/// every step.
@Suite(.heavy) struct `Slots released in bodies, in every order` {
  enum Call: String, CaseIterable, Sendable {
    case nothing, cancel, cancelAll, finish, suspend, close, narrow, barrier, newcomer, wait
  }

  /// The parts of bodies that hold a slot.
  private final class Account: Sendable {
    private struct State {
      var inside: [String] = []
      var problems: [String] = []
    }

    private let state = Locked(State())

    var problems: [String] { state.withLock { $0.problems } }

    func enter(_ name: String, limit: Int) {
      state.withLock { state in
        state.inside.append(name)
        if state.inside.count > limit { state.problems.append("\(state.inside), limit \(limit)") }
      }
    }

    func leave(_ name: String) {
      state.withLock { state in
        if let place = state.inside.firstIndex(of: name) { state.inside.remove(at: place) }
      }
    }

    /// Does something that needs the slot of an operation; one that was cancelled or has ended has
    /// none.
    func work(_ name: String, limit: Int) async {
      guard let operation = AdvancedOperation.current, !operation.isCancelled,
        operation.outcome == nil
      else { return }
      enter(name, limit: limit)
      await Task.yield()
      leave(name)
    }
  }

  private static func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
    if !isTrue { throw Witness.Violation(description: text()) }
  }

  private static func operation(
    _ name: String,
    calls: Int,
    limit: Int,
    _ account: Account
  ) -> ResultOperation<Void> {
    ResultOperation(name: name) {
      await account.work(name, limit: limit)
      if calls == 1 {
        await releasingSlot { await Task.yield() }
      } else {
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<calls {
            group.addTask { await releasingSlot { await Task.yield() } }
          }
        }
      }
      await account.work(name, limit: limit)
    }
  }

  private static func run(
    _ call: Call,
    calls: Int,
    in simulation: SimulatedEnvironment
  ) throws {
    let account = Account()
    let limit = call == .narrow ? 2 : 1
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = limit
    let names = call == .newcomer || call == .wait || calls > 1 ? ["a"] : ["a", "b"]
    let all = names.map { operation($0, calls: calls, limit: limit, account) }
    let first = all[0]
    let others = Locked<[AdvancedOperation]>([])
    switch call {
    case .nothing: break
    case .cancel: simulation.addStep("cancel") { first.cancel() }
    case .cancelAll: simulation.addStep("cancel all") { queue.cancelAllOperations() }
    case .finish:
      simulation.addStep("finish") { if first.state == .executing { first.finish() } }
    case .suspend: simulation.addStep("suspend") { queue.isSuspended = true }
    case .close: simulation.addStep("close") { queue.maxConcurrentOperationCount = 0 }
    case .narrow: simulation.addStep("narrow") { queue.maxConcurrentOperationCount = 1 }
    case .barrier:
      simulation.addStep("barrier") {
        let before = queue.operations
        queue.addBarrierBlock {
          for operation in before where !operation.isFinished {
            account.enter("barrier", limit: -1)
          }
        }
      }
    case .newcomer:
      let late = operation("late", calls: 1, limit: limit, account)
      others.withLock { $0 = [late] }
      simulation.addStep("add") { queue.addOperation(late) }
    case .wait:
      let waiting = ResultOperation(name: "waiting") { try await first.untilFinished() }
      others.withLock { $0 = [waiting] }
      simulation.addStep("wait") { queue.addOperation(waiting) }
    }
    queue.addOperations(all)
    simulation.run()
    if queue.isSuspended || queue.maxConcurrentOperationCount == 0 {
      queue.isSuspended = false
      queue.maxConcurrentOperationCount = 1
      simulation.run()
    }
    try expect(account.problems.isEmpty, "\(account.problems)")
    for operation in all + others.withLock({ $0 }) {
      try expect(operation.isFinished, "\(operation.explain())")
      let isCycle = operation.outcome?.failure?.first(OperationCycleError.self) != nil
      let isMeant =
        switch call {
        case .cancel, .finish: operation === first
        case .cancelAll: true
        case .wait: isCycle
        case .nothing, .suspend, .close, .narrow, .barrier, .newcomer: false
        }
      try expect(operation.outcome?.isSuccess == true || isMeant, "\(operation.explain())")
    }
    // All slots are there, and no more.
    queue.maxConcurrentOperationCount = 1
    let last = ["c", "d"].map { operation($0, calls: 1, limit: 1, account) }
    queue.addOperations(last)
    simulation.run()
    try expect(last.allSatisfy { $0.outcome?.isSuccess == true }, "\(last[0].explain())")
    try expect(account.problems.isEmpty, "\(account.problems)")
    try expect(queue.operationCount == 0, "something is left")
  }

  @Test(arguments: Call.allCases, [1, 2])
  func `released slots never exceed the limit`(call: Call, calls: Int) async throws {
    let report = try await offPool {
      try exploreSchedules(
        depthFirst: Effort.schedules(300, nightly: 200_000),
        randomSchedules: Effort.drawn(50, nightly: 5_000)
      ) { try Self.run(call, calls: calls, in: $0) }
    }
    print("\(call), \(calls) calls: \(report)")
  }

  #if DEBUG
  @Test(arguments: Call.allCases, [1, 2])
  func `interrupted bodies never exceed the limit`(call: Call, calls: Int) async throws {
    let report = try await offPool {
      try exploreSchedules(
        interruptions: Effort.isNightly ? 3 : 1,
        depthFirst: Effort.schedules(20, nightly: 5_000),
        randomSchedules: Effort.drawn(20, nightly: 5_000)
      ) { try Self.run(call, calls: calls, in: $0) }
    }
    print("\(call), \(calls) calls, interrupted: \(report)")
  }
  #endif

  @Test func `slots go from two parents to their children, and back`() async throws {
    let report = try await offPool {
      try exploreSchedules(
        depthFirst: Effort.schedules(1_000, nightly: 200_000),
        randomSchedules: Effort.drawn(200, nightly: 5_000)
      ) { simulation in
        let (account, limit) = (Account(), 2)
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        queue.maxConcurrentOperationCount = limit
        let parents = ["a", "b"].map { parent in
          ResultOperation(name: parent) {
            await account.work(parent, limit: limit)
            try await releasingSlot {
              async let first: Void = queue.run(
                ResultOperation(name: "\(parent)1") {
                  await account.work("\(parent)1", limit: limit)
                }
              )
              async let second: Void = queue.run(
                ResultOperation(name: "\(parent)2") {
                  await account.work("\(parent)2", limit: limit)
                }
              )
              _ = try await (first, second)
            }
            await account.work(parent, limit: limit)
          }
        }
        queue.addOperations(parents)
        simulation.run()
        for parent in parents {
          try Self.expect(parent.outcome?.isSuccess == true, "\(parent.explain())")
        }
        try Self.expect(account.problems.isEmpty, "\(account.problems)")
      }
    }
    print(report)
  }
}
