import AdvancedOperations
import AdvancedOperationsVisualization
import AdvancedTestSupport
import TestSupport
import Testing

/// What depends on each other, or is in each other, as deep as a program likes: all of it runs, is
/// told of and is released on stacks of 512 KiB.
@Suite(.heavy, .serialized) struct `AdvancedStress: depth` {
  enum Fate: CaseIterable, Sendable {
    case succeeds, fails, isCancelled
  }

  private struct Flaw: Error, CustomStringConvertible {
    let description = "the flaw"
  }

  /// Work that begins and is then over, or goes on until it is cancelled.
  private final class Leaf: AdvancedOperation, @unchecked Sendable {
    // Sendable: all stored properties are immutable.
    private let fate: Fate
    private let live: CoreStress.Live
    let began = Latch()

    init(_ fate: Fate, _ live: CoreStress.Live) {
      self.fate = fate
      self.live = live
      super.init()
      live.born()
      name = "leaf"
    }

    deinit { live.died() }

    override func execute() {
      began.open()
      switch fate {
      case .succeeds: finish()
      case .fails: finish(withError: Flaw())
      case .isCancelled: return
      }
    }
  }

  private static let length = CoreStress.scaled(Effort.isNightly ? 1_000_000 : 50_000)
  private static let depth = CoreStress.scaled(Effort.isNightly ? 10_000 : 2_000)
  private static let values = CoreStress.scaled(Effort.isNightly ? 1_000_000 : 100_000)

  private static func onSmallStack<Result: Sendable>(
    _ body: @escaping @Sendable () -> Result
  ) async -> Result {
    await CoreStress.onThread(stackSize: CoreStress.smallStack, body)
  }

  /// A queue whose workers, and all that its environment runs, have small stacks.
  private static func makeQueue() -> AdvancedOperationQueue {
    AdvancedOperationQueue(
      environment: OperationEnvironment(executor: CoreStress.SmallStacks.shared)
    )
  }

  // MARK: Chains

  @Test(arguments: Fate.allCases)
  func `a long chain of results delivers its failure and is released`(fate: Fate) async {
    let length = Self.length
    await Self.onSmallStack {
      let first = ResultOperation(name: "step 0") { () async throws -> Int in
        if fate == .fails { throw Flaw() }
        return 0
      }
      var last = first
      var all: [AdvancedOperation] = [first]
      for number in 1..<length {
        last = last.then(name: "step \(number)") { $0 + 1 }
        all.append(last)
      }
      if fate == .isCancelled { first.cancel(withError: Flaw()) }
      let queue = Self.makeQueue()
      queue.addOperations(all)
      all = []
      queue.waitUntilAllOperationsAreFinished()
      #expect(last.outcome?.isSuccess == (fate == .succeeds))
      guard let failure = last.outcome?.failure else { return }
      #expect(failure.isInherited)
      let causes = failure.rootCauses.map { "\($0.origin): \($0.error)" }
      #expect(causes.count == 1)
      #expect(causes[0].hasPrefix("dependency “step \(length - 2)”, "))
      let end = fate == .fails ? "body: the flaw" : "cancel: the flaw"
      #expect(causes[0].hasSuffix(", dependency “step 0”, \(end)"))
      #expect(causes[0].utf8.count < 1_000, "no more than a reader follows")
      #expect(failure.first(Flaw.self) != nil)
      #expect(failure.isCancellation == (fate == .isCancelled))
      for text in [failure.description, failure.summary()] {
        #expect(text.contains("dependency “step \(length - 2)”"))
        #expect(text.contains("dependency “step 0”"))
        #expect(text.contains("the flaw"))
        #expect(text.utf8.count < 1_000, "no more than a reader follows")
      }
    }
  }

  @Test func `a chain of conditions about dependencies keeps the failure of its first`() async {
    let length = Self.length
    await Self.onSmallStack {
      var all = (0..<length).map { number in
        let work = AdvancedOperation()
        work.name = "step \(number)"
        if number == 0 {
          work.addCondition(BlockCondition("weather") { throw Flaw() })
        } else {
          work.addCondition(NoFailedDependencies())
        }
        return work
      }
      for (earlier, later) in zip(all, all.dropFirst()) { later.addDependency(earlier) }
      let last = all[length - 1]
      let queue = Self.makeQueue()
      queue.addOperations(all)
      all = []
      queue.waitUntilAllOperationsAreFinished()
      guard let failure = last.outcome?.failure else {
        Issue.record("\(last) did not fail")
        return
      }
      #expect(failure.first(Flaw.self) != nil)
      #expect(failure.rootCauses.count == 1)
      #expect(!failure.isCancellation && !failure.isTimeout)
      for text in [failure.description, failure.summary()] {
        #expect(text.contains("dependency “step 0”"))
        #expect(text.contains("the flaw"))
        #expect(text.utf8.count < 2_000, "no more than a reader follows")
      }
    }
  }

  @Test func `a chain whose dependencies were removed is released without having run`() async {
    let length = Self.length
    await Self.onSmallStack {
      var last = ResultOperation { 0 }
      for _ in 1..<length {
        let next = last.then { $0 + 1 }
        next.removeDependency(last)
        last = next
      }
    }
  }

  /// An operation fails with the first of its inputs that failed, and with the other one if that has
  /// failed by then.
  @Test func `failures of a lattice of operations are each described once`() async {
    let width = 2
    let first = (0..<width).map { number in
      ResultOperation(name: "0.\(number)") { () async throws -> Int in throw Flaw() }
    }
    var all: [AdvancedOperation] = first
    var last = first
    for row in 1..<64 {
      last = (0..<width).map { number in
        ResultOperation(name: "\(row).\(number)", after: last[0], last[1]) { $0 + $1 }
      }
      all += last
    }
    let queue = AdvancedOperationQueue()
    queue.addOperations(all)
    try? await queue.untilAllOperationsAreFinished()
    let failure = last[0].outcome?.failure
    #expect(1...width ~= failure?.elements.count ?? 0)
    let causes = failure?.rootCauses.count ?? 0
    #expect(1...width ~= causes)
    let lines = failure?.description.split(separator: "\n") ?? []
    // Each failure below its own heading, and once more where it is met again.
    #expect(lines.count { $0.contains("the flaw") } == causes)
    #expect(lines.count { $0.contains(": as above") } <= 63 * width - width)
    #expect((failure?.summary() ?? "").utf8.count < 10_000)
  }

  // MARK: Failures

  @Test func `a deeply nested failure is described and released`() async {
    let count = Self.values
    await Self.onSmallStack {
      var failure = OperationFailure(elements: [.init(origin: .body, error: Flaw())])
      for _ in 0..<count {
        failure = OperationFailure(elements: [.init(origin: .body, error: failure)])
      }
      #expect(failure.description == "the flaw")
      #expect(failure.summary() == "the flaw")
      #expect(failure.rootCauses.count == 1)
    }
  }

  @Test func `deeply nested origins are compared, hashed, described and released`() async {
    let count = Self.values
    await Self.onSmallStack {
      func origin(_ last: OperationFailure.Origin) -> OperationFailure.Origin {
        var origin = last
        for number in 0..<count {
          origin = number.isMultiple(of: 3) ? .attempt(number, origin) : .child("c", origin)
        }
        return origin
      }
      let (a, b, other) = (origin(.body), origin(.body), origin(.cancel))
      #expect(a == b)
      #expect(a != other)
      #expect(a.hashValue == b.hashValue)
      #expect("\(a)".utf8.count < 500)
      let failure = OperationFailure(elements: [
        .init(origin: a, error: Flaw()), .init(origin: other, error: Flaw()),
      ])
      #expect(failure.description.contains(" more …"))
      #expect(failure.description.utf8.count < 2_000)
      #expect(failure.summary().utf8.count < 1_000)
    }
  }

  // MARK: Groups

  private static func nest(
    _ operation: AdvancedOperation,
    _ depth: Int,
    policy: GroupOperation.ErrorPolicy = .collectAll
  ) -> AdvancedOperation {
    (0..<depth).reduce(operation) { inner, number in
      GroupOperation(name: "group \(number)", errorPolicy: policy) { inner }
    }
  }

  @Test(arguments: Fate.allCases, [GroupOperation.ErrorPolicy.collectAll, .failFast])
  func `deeply nested groups run, notify observers and are released`(
    fate: Fate,
    policy: GroupOperation.ErrorPolicy
  ) async {
    let depth = Self.depth
    let live = CoreStress.Live()
    let queue = Self.makeQueue()
    let began = await Self.onSmallStack {
      let leaf = Leaf(fate, live)
      queue.addOperation(Self.nest(leaf, depth, policy: policy))
      return leaf.began
    }
    await began.opened()
    await Self.onSmallStack {
      if fate == .isCancelled {
        let group = queue.operations[0] as? AdvancedOperation
        #expect(group?.explain().path.count == depth + 1)
        #expect(queue.graph.nodes.count == depth + 1)
        #expect(!queue.graph.dot().isEmpty)
        group?.cancel(withError: Flaw())
      }
      queue.waitUntilAllOperationsAreFinished()
    }
    await live.ended()
  }

  @Test(arguments: Fate.allCases)
  func `a failure in deeply nested groups has its complete path`(fate: Fate) async {
    let depth = Self.depth
    let live = CoreStress.Live()
    await Self.onSmallStack {
      let queue = Self.makeQueue()
      let leaf = Leaf(fate, live)
      let group = Self.nest(leaf, depth)
      if fate == .isCancelled { leaf.cancel(withError: Flaw()) }
      queue.addOperation(group)
      queue.waitUntilAllOperationsAreFinished()
      #expect(group.outcome?.isSuccess == (fate == .succeeds))
      guard let failure = group.outcome?.failure else { return }
      #expect(failure.elements.count == 1)
      for text in [failure.description, failure.summary(), "\(failure.elements[0].origin)"] {
        #expect(text.contains("child “group \(depth - 2)”"))
        #expect(text.contains("child “leaf”"))
        #expect(text.contains("… \(depth - 11) more …"))
        #expect(text.utf8.count < 1_000)
      }
    }
    await live.ended()
  }

  @Test func `deeply nested groups that are cancelled early leave`() async {
    let depth = Self.depth
    let live = CoreStress.Live()
    await Self.onSmallStack {
      let queue = Self.makeQueue()
      let leaf = Leaf(.succeeds, live)
      let group = Self.nest(leaf, depth)
      group.cancel(withError: Flaw())
      queue.addOperation(group)
      queue.waitUntilAllOperationsAreFinished()
      #expect(leaf.isCancelled)
      #expect(leaf.isFinished)
    }
    await live.ended()
  }

  @Test func `deeply nested groups that never run are released`() async {
    let depth = Self.depth
    let live = CoreStress.Live()
    await Self.onSmallStack { _ = Self.nest(Leaf(.succeeds, live), depth) }
    await live.ended()
  }

  @Test func `the innermost operation's progress is that of all nested groups`() async {
    let depth = Self.depth
    let live = CoreStress.Live()
    let told = CoreStress.Tally()
    await Self.onSmallStack {
      let queue = Self.makeQueue()
      let leaf = AdvancedStressReporting(live)
      let group = Self.nest(leaf, depth)
      group.addObserver(BlockObserver(didUpdateProgress: { _, _ in told.add() }))
      queue.addOperation(group)
      queue.waitUntilAllOperationsAreFinished()
    }
    #expect(told.now == 3, "once for each change")
    await live.ended()
  }

  @Test func `deeply nested retries finish and can be cancelled`() async {
    let depth = Self.depth / 10
    let live = CoreStress.Live()
    await Self.onSmallStack {
      let leaf = Leaf(.isCancelled, live)
      let queue = Self.makeQueue()
      let retry = (0..<depth).reduce(leaf as AdvancedOperation) { inner, number in
        RetryOperation(name: "retry \(number)", retry: .immediate.attempts(1)) { _ in inner }
      }
      leaf.onStart { _ in
        CoreStress.launch(stackSize: CoreStress.smallStack) { retry.cancel(withError: Flaw()) }
      }
      queue.addOperation(retry)
      queue.waitUntilAllOperationsAreFinished()
      #expect(leaf.isCancelled)
    }
    await live.ended()
  }

  // MARK: Callbacks

  @Test(arguments: [true, false])
  func `observers that end the next operation recursively need no stack`(
    finishes: Bool
  ) async throws {
    let count = Self.length
    let live = CoreStress.Live()
    let queue = Self.makeQueue()
    let leaves = (0..<count).map { _ in Leaf(.isCancelled, live) }
    let end: @Sendable (AdvancedOperation) -> Void = { finishes ? $0.finish() : $0.cancel() }
    for (leaf, next) in zip(leaves, leaves.dropFirst()) {
      leaf.onFinish { [weak next] _, _ in next.map(end) }
    }
    queue.addOperations(leaves)
    for leaf in leaves { await leaf.began.opened() }
    await Self.onSmallStack { end(leaves[0]) }
    try await queue.untilAllOperationsAreFinished()
    #expect(leaves.allSatisfy { $0.isFinished })
  }

  @Test func `observers of a start that start the next operation need no stack`() async throws {
    let operations = (0..<Self.length).map { _ in AdvancedOperation() }
    for (operation, next) in zip(operations, operations.dropFirst()) {
      operation.onStart { [weak next] _ in next?.start() }
    }
    await Self.onSmallStack { operations[0].start() }
    for operation in operations { try await operation.untilFinished() }
    #expect(operations.allSatisfy { $0.outcome?.isSuccess == true })
  }

  @Test(arguments: [true, false])
  func `observers of properties that end the next operation need no stack`(
    finishes: Bool
  ) async throws {
    let live = CoreStress.Live()
    let queue = Self.makeQueue()
    let leaves = (0..<Self.length).map { _ in Leaf(.isCancelled, live) }
    let end: @Sendable (AdvancedOperation) -> Void = { finishes ? $0.finish() : $0.cancel() }
    let observations = zip(leaves, leaves.dropFirst()).map { leaf, next in
      finishes
        ? leaf.observe(\.isFinished) { [weak next] leaf, _ in
          if leaf.isFinished { next.map(end) }
        }
        : leaf.observe(\.isCancelled) { [weak next] leaf, _ in
          if leaf.isCancelled { next.map(end) }
        }
    }
    queue.addOperations(leaves)
    for leaf in leaves { await leaf.began.opened() }
    await Self.onSmallStack { end(leaves[0]) }
    try await queue.untilAllOperationsAreFinished()
    for observation in observations { observation.invalidate() }
    #expect(leaves.allSatisfy { $0.isFinished })
  }

  @Test func `objects whose release ends the next operation need no stack`() async throws {
    /// What an observer captures, and what ends an operation when that goes.
    final class Last: Sendable {
      let next: AdvancedOperation
      init(_ next: AdvancedOperation) { self.next = next }
      deinit { next.finish() }
    }
    let live = CoreStress.Live()
    let queue = Self.makeQueue()
    let leaves = (0..<Self.length).map { _ in Leaf(.isCancelled, live) }
    for (leaf, next) in zip(leaves, leaves.dropFirst()) {
      let last = Last(next)
      leaf.onFinish { _, _ in withExtendedLifetime(last) {} }
    }
    queue.addOperations(leaves)
    for leaf in leaves { await leaf.began.opened() }
    await Self.onSmallStack { leaves[0].finish() }
    try await queue.untilAllOperationsAreFinished()
    #expect(leaves.allSatisfy { $0.isFinished })
  }
}

/// Says how far it is, three times.
private final class AdvancedStressReporting: AdvancedOperation, @unchecked Sendable {
  // Sendable: all stored properties are immutable.
  private let live: CoreStress.Live

  init(_ live: CoreStress.Live) {
    self.live = live
    super.init()
    live.born()
  }

  deinit { live.died() }

  override func execute() {
    for step in 1...3 { updateProgress(completed: Int64(step), total: 3) }
    finish()
  }
}
