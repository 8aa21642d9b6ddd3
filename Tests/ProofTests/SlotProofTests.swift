import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

private struct Flaw: Error {}

/// Two operations that release their slot between attempts, and one thing that comes in between at
/// every step.
@Suite(.heavy) struct `Slots and claims between attempts, in every order` {
  enum Call: String, CaseIterable, Sendable {
    case nothing, cancel, cancelAll, finish, suspend, close, widen, barrier, newcomer, wait
  }

  struct Case: Sendable, CustomStringConvertible {
    let call: Call
    let hasClaim: Bool
    let delay: Duration
    var description: String {
      "\(call.rawValue), \(hasClaim ? "with a claim" : "without claims"), \(delay)"
    }

    static let all = Call.allCases.flatMap { call in
      [true, false].flatMap { hasClaim in
        [Duration.zero, .seconds(1)].map { Case(call: call, hasClaim: hasClaim, delay: $0) }
      }
    }
  }

  /// What is seen from inside of the bodies and from the account of the claims.
  private final class Account: Sendable {
    private struct State {
      var inside: Set<String> = []
      var holders: Set<String> = []
      var problems: [String] = []
    }

    private let state = Locked(State())
    /// Whether the account of the claims tells what happens in the order in which it does: not when
    /// a thread may be interrupted between a change and the telling.
    let isTraced: Bool

    init(isTraced: Bool) { self.isTraced = isTraced }

    var problems: [String] { state.withLock { $0.problems } }
    var isEmpty: Bool { state.withLock { $0.inside.isEmpty && $0.holders.isEmpty } }

    func complain(_ text: String) { state.withLock { $0.problems.append(text) } }

    /// - Parameters:
    ///   - name: Whose attempt begins.
    ///   - limit: How many slots there are.
    ///   - hasClaim: Whether it needs one.
    func enter(_ name: String, limit: Int, hasClaim: Bool) {
      state.withLock { state in
        if !state.inside.insert(name).inserted { state.problems.append("\(name) is inside twice") }
        if state.inside.count > limit { state.problems.append("\(state.inside), limit \(limit)") }
        if hasClaim, state.inside.count > 1 {
          state.problems.append("\(state.inside) have the claim")
        }
        if isTraced, hasClaim != state.holders.contains(name) {
          state.problems.append("\(name) begins, and the claim is held by \(state.holders)")
        }
      }
    }

    func leave(_ name: String) { state.withLock { _ = $0.inside.remove(name) } }

    func claims(_ name: String, _ event: ClaimEvent) {
      state.withLock { state in
        switch event {
        case .waits: break
        case .taken:
          if !state.holders.isEmpty { state.problems.append("\(name) beside \(state.holders)") }
          state.holders.insert(name)
        case .givenBack:
          if state.inside.contains(name) { state.problems.append("\(name) lost its claim inside") }
          state.holders.remove(name)
        }
      }
    }
  }

  private static func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
    if !isTrue { throw Witness.Violation(description: text()) }
  }

  private static func operation(
    _ name: String,
    _ one: Case,
    _ account: Account,
    limit: Int,
    attempts: Int = 2
  ) -> ResultOperation<Int> {
    let policy = RetryPolicy.constant(one.delay).attempts(attempts).releasingSlot()
    let operation = ResultOperation(name: name, retry: policy) {
      account.enter(name, limit: limit, hasClaim: one.hasClaim)
      defer { account.leave(name) }
      await Task.yield()
      let attempt = AdvancedOperation.current?.attempt ?? 0
      if attempt < attempts { throw Flaw() }
      return attempt
    }
    if one.hasClaim { operation.addClaim(MutuallyExclusive("x")) }
    return operation
  }

  private static func run(
    _ one: Case,
    isInterrupted: Bool = false,
    in simulation: SimulatedEnvironment
  ) throws {
    let account = Account(isTraced: !isInterrupted)
    let witness = Witness(allowsLateDependencies: true)
    if account.isTraced {
      simulation.environment.claimDomain.trace { event, operation in
        account.claims(operation.label, event)
      }
    }
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = 1
    let limit = one.call == .widen ? 2 : 1
    let names = one.call == .newcomer || one.call == .wait ? ["a"] : ["a", "b"]
    let all = names.map { operation($0, one, account, limit: limit) }
    witness.watch(all)
    let first = all[0]
    let others = Locked<[ResultOperation<Int>]>([])
    switch one.call {
    case .nothing: break
    case .cancel: simulation.addStep("cancel") { first.cancel() }
    case .cancelAll: simulation.addStep("cancel all") { queue.cancelAllOperations() }
    case .finish:
      simulation.addStep("finish") { if first.state == .executing { first.finish() } }
    case .suspend: simulation.addStep("suspend") { queue.isSuspended = true }
    case .close: simulation.addStep("close") { queue.maxConcurrentOperationCount = 0 }
    case .widen: simulation.addStep("widen") { queue.maxConcurrentOperationCount = 2 }
    case .barrier:
      simulation.addStep("barrier") {
        let before = all.filter { queue.operations.contains($0) }
        queue.addBarrierBlock {
          for operation in before where !operation.isFinished {
            account.complain("the barrier passed \(operation)")
          }
        }
      }
    case .newcomer:
      let late = operation("late", one, account, limit: limit, attempts: 1)
      witness.watch([late])
      simulation.addStep("add") { queue.addOperation(late) }
      others.withLock { $0 = [late] }
    case .wait:
      let waiting = ResultOperation(name: "waiting") { try await first.value }
      if one.hasClaim { waiting.addClaim(MutuallyExclusive("x")) }
      witness.watch([waiting])
      simulation.addStep("wait") { queue.addOperation(waiting) }
      others.withLock { $0 = [waiting] }
    }
    queue.addOperations(all)
    simulation.run()
    if queue.isSuspended || queue.maxConcurrentOperationCount == 0 {
      queue.isSuspended = false
      queue.maxConcurrentOperationCount = 1
      simulation.run()
    }
    try witness.check(queue)
    let ended = all + others.withLock { $0 }
    try expect(account.problems.isEmpty, "\(account.problems)")
    try expect(account.isEmpty, "something is kept")
    let hasCycle = ended.contains { $0.outcome?.failure?.first(OperationCycleError.self) != nil }
    for operation in ended where operation.outcome?.isSuccess != true {
      let isMeant =
        switch one.call {
        case .cancel, .finish: operation == first
        case .cancelAll: true
        case .wait: hasCycle
        case .nothing, .suspend, .close, .widen, .barrier, .newcomer: false
        }
      try expect(isMeant, "\(operation) ended as \(operation.outcome.map { "\($0)" } ?? "?")")
    }
    // All was given back: another one gets it.
    let last = operation("last", one, account, limit: limit, attempts: 3)
    queue.addOperation(last)
    simulation.run()
    try expect(last.outcome?.isSuccess == true, "something was kept: \(last.explain())")
    try expect(account.isEmpty && account.problems.isEmpty, "\(account.problems)")
  }

  @Test(arguments: Case.all)
  func `slots and claims between attempts are never exceeded and all released`(
    one: Case
  ) async throws {
    let report = try await offPool {
      try exploreSchedules(
        depthFirst: Effort.schedules(800, nightly: 200_000),
        randomSchedules: Effort.drawn(50, nightly: 5_000)
      ) { try Self.run(one, in: $0) }
    }
    print("\(one): \(report)")
  }

  #if DEBUG
  @Test(arguments: Case.all)
  func `slots and claims between attempts are never exceeded despite interruptions`(
    one: Case
  ) async throws {
    let report = try await offPool {
      try exploreSchedules(
        interruptions: Effort.isNightly ? 3 : 1,
        depthFirst: Effort.schedules(60, nightly: 5_000),
        randomSchedules: Effort.drawn(30, nightly: 5_000)
      ) { try Self.run(one, isInterrupted: true, in: $0) }
    }
    print("\(one), interrupted: \(report)")
  }
  #endif
}
