import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `The path to the root cause` {
  @Test func `the path follows claims, limits, groups and dependencies to the root cause`() {
    let world = World(limit: 1)
    let other = world.makeQueue(limit: 1)
    world.queue.name = "first"
    other.name = "second"
    let holder = world.taking(100, "holder")
    holder.addClaim(MutuallyExclusive("db"))
    let blocked = Work("blocked")
    blocked.addClaim(MutuallyExclusive("db"))
    let group = GroupOperation(name: "group") { blocked }
    let waiting = Work("waiting")
    let last = Work("last")
    last.addDependency(waiting)
    world.queue.addOperation(holder)
    world.simulation.advance(by: .zero)
    other.addOperations([group, waiting])
    world.queue.addOperation(last)
    world.simulation.advance(by: .zero)

    let explanation = last.explain()
    #expect(
      explanation.path.map(\.name) == ["last", "waiting", "group", "blocked", "holder"]
    )
    #expect(
      explanation.path.map(\.kind) == [.dependency, .limit, .children, .claim, .executing]
    )
    holder.cancel()
    world.simulation.run()
    #expect(last.isFinished)
  }

  @Test func `the path starts with the cause that won't change by itself`() {
    let world = World()
    let stuck = Work("stuck")
    let going = world.taking(10, "going")
    let last = Work("last")
    for operation in [going, stuck] { last.addDependency(operation) }
    world.queue.addOperations([going, last])
    world.simulation.advance(by: .seconds(1))
    #expect(last.explain().rootCauses.map(\.operation) == [stuck, going])
    #expect(last.explain().path.last?.operation == stuck)
    stuck.start()
    world.simulation.run()
  }

  @Test func `the explanation of a long chain is short`() {
    let world = World()
    let chain =
      [Work.open("first of all")]
      + (1..<Effort.size(10_000, ordinarily: 5_000)).map { Work("\($0)") }
    for (earlier, later) in zip(chain, chain.dropFirst()) { later.addDependency(earlier) }
    world.queue.addOperations(chain)
    world.simulation.advance(by: .zero)
    let explanation = chain[chain.count - 1].explain()
    #expect(explanation.path.count == chain.count)
    #expect(explanation.rootCauses.map(\.kind) == [.finishNotCalled])
    let lines = "\(explanation)".split(separator: "\n")
    #expect(lines.count == 14)
    #expect(lines.contains("  … \(chain.count - 12) more …"))
    chain[0].finish()
    world.simulation.run()
  }

  @Test func `many root causes don't slow the explanation down`() {
    let chain = (0..<Effort.size(20_000, ordinarily: 10_000)).map { _ in Operation() }
    for (earlier, later) in zip(chain, chain.dropFirst()) { later.addDependency(earlier) }
    let last = Work("last")
    last.addDependency(chain[chain.count - 1])
    let explanation = last.explain()
    #expect(explanation.rootCauses.map(\.operations) == [[last] + chain.reversed()])
    #expect(explanation.path.map(\.operation) == [last])
    #expect("\(explanation)".count < 500)
  }

  @Test func `many names in an explanation are counted`() {
    let world = World()
    let first = (0..<1_000).map { Work("\($0)") }
    let last = Work("last")
    for work in first { last.addDependency(work) }
    world.queue.addOperation(last)
    #expect(text(last).count < 500)
    #expect(last.explain().causes[0].involved.count == 1_000)
  }

  @Test(arguments: seeds)
  func `removing the explained root causes starts the operation`(seed: UInt64) {
    var random = Random(seed)
    let world = World(seed: seed, limit: 2)
    let other = world.makeQueue(limit: 1)
    other.isSuspended = true
    var all: [Work] = []
    for number in 0..<15 {
      let work =
        Int.random(in: 0..<4, using: &random) == 0 ? Work.open("\(number)") : Work("\(number)")
      for earlier in all where Int.random(in: 0..<8, using: &random) == 0 {
        work.addDependency(earlier)
      }
      if Bool.random(using: &random) { work.addClaim(MutuallyExclusive("db")) }
      all.append(work)
    }
    for work in all { (Bool.random(using: &random) ? world.queue : other).addOperation(work) }
    world.simulation.run()
    // Whatever is said to be needed for the last one is done, until it has finished.
    var rounds = 0
    while let waiting = all.last(where: { !$0.isFinished }), rounds < 200 {
      rounds += 1
      let explanation = waiting.explain()
      #expect(!explanation.rootCauses.isEmpty, "seed \(seed): \(waiting) has no cause")
      for cause in explanation.rootCauses {
        let operation = cause.operation as? Work
        switch cause.kind {
        case .suspended: other.isSuspended = false
        case .finishNotCalled: operation?.finish()
        default: Issue.record("seed \(seed): \(cause) was not expected")
        }
      }
      world.simulation.run()
    }
    #expect(all.allSatisfy { $0.isFinished }, "seed \(seed)")
  }

  @Test func `an explanation can be requested from every callback and many threads`() async throws {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = 3
    struct Asks: OperationObserver {
      func ask(_ operation: AdvancedOperation) {
        _ = operation.explain().description
        _ = operation.debugDescription
      }
      func operationDidEnqueue(_ operation: AdvancedOperation) { ask(operation) }
      func operationDidStart(_ operation: AdvancedOperation) { ask(operation) }
      func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
        ask(operation)
      }
    }
    queue.addObserver(Asks())
    var operations: [AdvancedOperation] = []
    var random = Random(3)
    for number in 0..<300 {
      let work = Work("\(number)") { work in
        _ = work.explain()
        work.finish()
      }
      if let earlier = operations.randomElement(using: &random) { work.addDependency(earlier) }
      if number % 3 == 0 { work.addClaim(MutuallyExclusive("explained")) }
      if number % 5 == 0 { work.addCondition(Asked { _ in .satisfied }) }
      operations.append(work)
    }
    let all = operations
    queue.addOperations(all)
    await together(
      { for _ in 0..<20 { _ = queue.explain().description } },
      { for work in all { _ = work.explain().description } }
    )
    try await queue.untilAllOperationsAreFinished()
    #expect(all.allSatisfy { $0.explain().rootCauses.map(\.kind) == [.finished] })
  }
}
