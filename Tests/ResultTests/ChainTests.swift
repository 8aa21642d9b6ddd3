import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Results that other operations need` {
  @Test(arguments: seeds)
  func `results are injected by type in any order of adding`(seed: UInt64) {
    let world = World(seed: seed)
    let number = ResultOperation(name: "number") { 20 }
    let text = number.then(name: "text") { "\($0 + 1)" }
    let length = text.then(name: "length") { $0.count }
    world.run(length, text, number)
    #expect((try? text.result?.get()) == "21")
    #expect((try? length.result?.get()) == 2)
    #expect(length.dependencies == [text])
  }

  @Test(arguments: seeds)
  func `several results have the order of the parameters`(seed: UInt64) {
    let world = World(seed: seed)
    let a = ResultOperation { 1 }
    let b = ResultOperation { "two" }
    let c = ResultOperation { 3.0 }
    let one = ResultOperation(after: a) { a in a }
    let all = ResultOperation(name: "all", after: a, b, c) { a, b, c in "\(a) \(b) \(c)" }
    world.run(all, one, c, b, a)
    #expect((try? all.result?.get()) == "1 two 3.0")
    #expect((try? one.result?.get()) == 1)
    #expect(all.dependencies == [a, b, c])
  }

  @Test func `missing results fail the successor with their origins`() throws {
    let world = World()
    let failing = ResultOperation(name: "failing") { () async throws -> Int in throw Flaw(1) }
    let fine = ResultOperation(name: "fine") { 2 }
    let cancelled = ResultOperation(name: "cancelled") { 3 }
    cancelled.cancel(withError: Flaw(2))
    let ran = Counter()
    let all = ResultOperation(name: "all", after: failing, fine, cancelled) { _, _, _ in ran.add() }
    world.run(failing, fine, cancelled, all)
    let late = ResultOperation(name: "late", after: failing, fine, cancelled) { _, _, _ in ran.add()
    }
    world.run(late)
    #expect([all.kind, late.kind] == [.failed, .failed])
    #expect(ran.count == 0)
    // A cancelled operation leaves first, and the rest isn't waited for.
    #expect(all.origins == [.dependency("cancelled")])
    let elements = try #require(late.outcome?.failure?.elements)
    #expect(elements.map(\.origin) == [.dependency("failing"), .dependency("cancelled")])
    #expect(elements.map(\.isInherited) == [true, true])
    let inner = elements.compactMap { ($0.error as? OperationFailure)?.errors }
    #expect(inner.map(flaws) == [[1], [2]])
  }

  @Test func `a missing result that is used several times fails the successor once`() {
    let world = World()
    let failing = ResultOperation(name: "failing") { () async throws -> Int in throw Flaw(1) }
    let sum = ResultOperation(name: "sum", after: failing, failing, failing) { $0 + $1 + $2 }
    let fine = ResultOperation { 2 }
    let product = ResultOperation(after: fine, fine, fine) { $0 * $1 * $2 }
    world.run(failing, sum, fine, product)
    #expect(sum.origins == [.dependency("failing")])
    #expect(sum.outcome?.failure?.description == "dependency “failing”\n  flaw 1")
    #expect((try? product.result?.get()) == 8)
  }

  @Test(arguments: seeds)
  func `an inherited failure passes along a chain`(seed: UInt64) {
    let world = World(seed: seed)
    let first = ResultOperation(name: "first") { () async throws -> Int in throw Flaw(1) }
    let second = first.then(name: "second") { $0 }
    let third = second.then(name: "third") { $0 }
    world.run(third, second, first)
    #expect(third.kind == .failed)
    #expect(third.origins == [.dependency("second")])
    #expect(
      third.outcome?.failure?.description == "dependency “second”\n  dependency “first”\n    flaw 1"
    )
  }

  @Test func `a skipped result skips the successor`() {
    let world = World()
    let skipped = ResultOperation(name: "skipped") { 1 }
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    let next = skipped.then { $0 }
    let last = next.then { $0 }
    world.run(skipped, next, last)
    for work in [next, last] {
      guard case .skipped(let reason) = work.outcome else {
        Issue.record("\(String(describing: work.outcome))")
        return
      }
      #expect(reason == "no need")
      #expect(work.errors.isEmpty)
    }
  }

  @Test func `a failed predecessor overrides a skipped one`() {
    let world = World()
    let skipped = ResultOperation(name: "skipped") { 1 }
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    let failing = ResultOperation(name: "failing") { () async throws -> Int in throw Flaw(1) }
    let next = ResultOperation(after: skipped, failing) { $0 + $1 }
    world.run(skipped, failing, next)
    #expect(next.kind == .failed)
    #expect(next.origins == [.dependency("failing")])
  }

  @Test func `an operation whose predecessor has no value evaluates no condition`() {
    let world = World()
    let failing = ResultOperation(name: "failing") { () async throws -> Int in throw Flaw(1) }
    let probe = ConditionProbe()
    let next = failing.then { $0 }
    next.addCondition(probe)
    world.run(failing, next)
    #expect(probe.evaluationCount == 0)
    #expect(next.kind == .failed)
  }

  @Test func `a result whose dependency was removed is an error and no trap`() {
    let world = World()
    let gate = Latch()
    let slow = ResultOperation(name: "slow") {
      await gate.opened()
      return 1
    }
    let next = slow.then { $0 }
    next.removeDependency(slow)
    world.run(slow, next)
    #expect(next.kind == .failed)
    #expect(next.origins == [.dependency("slow")])
    gate.open()
    world.simulation.run()
  }

  @Test func `a cancelled successor doesn't wait for its inputs`() {
    let world = World()
    let gate = Latch()
    let slow = ResultOperation {
      await gate.opened()
      return 1
    }
    let next = slow.then { $0 }
    world.run(slow, next)
    next.cancel()
    world.simulation.run()
    #expect(next.kind == .cancelled)
    #expect(slow.isExecuting)
    gate.open()
    world.simulation.run()
    #expect(slow.kind == .succeeded)
  }

  @Test(.watched) func `results pass from queue to queue on threads`() async throws {
    let queues = (0..<3).map { _ in AdvancedOperationQueue() }
    for _ in 0..<Effort.rounds(200) {
      let first = ResultOperation { 0 }
      var last = first
      var all: [AdvancedOperation] = [first]
      for _ in 0..<10 {
        last = last.then { $0 + 1 }
        all.append(last)
      }
      for (number, work) in all.reversed().enumerated() { queues[number % 3].addOperation(work) }
      #expect(try await last.value == 10)
    }
  }
}
