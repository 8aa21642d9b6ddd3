import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// Which errors a policy is asked about.
@Suite struct `The predicate of a retry policy` {
  private let world = World()

  /// Gives up on flaw 404.
  private static let policy = RetryPolicy.constant(.seconds(5)).attempts(3).when {
    ($0 as? Flaw)?.number != 404
  }

  private static func call(_ flaw: Int) -> ResultOperation<Int> {
    ResultOperation(name: "call") { throw Flaw(flaw) }
  }

  enum Way: CaseIterable, Sendable {
    case direct, awaited, input, condition, compound, group, scope, retried, helped
  }

  /// An operation of which each attempt fails with a flaw that comes to it in some way.
  private func operation(_ flaw: Int, _ way: Way) -> ResultOperation<Int> {
    let queue = world.queue
    switch way {
    case .direct: return ResultOperation(retry: Self.policy) { throw Flaw(flaw) }
    case .awaited:
      return ResultOperation(retry: Self.policy) { try await queue.run(Self.call(flaw)) }
    case .input:
      return RetryOperation<Int>(retry: Self.policy) { _ in
        Self.call(flaw).then(name: "parse") { $0 }.then(name: "store") { $0 }
      }
    case .condition, .compound:
      return RetryOperation<Int>(retry: Self.policy) { _ in
        let call = ResultOperation(name: "call") { 1 }
        let condition = Immediate(always: .failed(Flaw(flaw)))
        if way == .condition {
          call.addCondition(condition)
        } else {
          call.addCondition(Immediate() && (condition || condition))
        }
        return call
      }
    case .group:
      return ResultOperation(retry: Self.policy) {
        let call = Self.call(flaw)
        try await queue.run(GroupOperation(name: "group") { GroupOperation { call } })
        return try await call.value
      }
    case .scope:
      return ResultOperation(retry: Self.policy) {
        try await withOperations { scope in
          scope.add(Self.call(flaw))
          return 1
        }
      }
    case .retried:
      return ResultOperation(retry: Self.policy) {
        // Of its own attempts, the last one decides.
        try await queue.run(
          ResultOperation<Int>(name: "inner", retry: .immediate.attempts(3)) {
            throw Flaw(AdvancedOperation.current?.attempt == 3 ? flaw : 404)
          }
        )
      }
    case .helped:
      return RetryOperation<Int>(retry: Self.policy) { _ in
        let call = ResultOperation(name: "call") { 1 }
        call.addDependency(Self.call(flaw))
        call.addCondition(.allSucceeded)
        return call
      }
    }
  }

  @Test(arguments: Way.allCases)
  func `a predicate receives the root cause however it reached the attempt`(way: Way) {
    let final = operation(404, way)
    let other = operation(500, way)
    world.run(final, other)
    #expect(final.kind == .failed)
    #expect(final.attempt == 1)
    #expect(other.kind == .failed)
    #expect(other.attempt == 3)
  }

  @Test(arguments: [[500, 404], [404, 500], [500, 501], [404]])
  func `a predicate must allow each of several root causes`(flaws: [Int]) {
    let queue = world.queue
    let retried = ResultOperation<Void>(retry: Self.policy) {
      let group = GroupOperation(name: "group") {
        for flaw in flaws { Work.failing("child \(flaw)", flaw) }
      }
      try await queue.run(group)
    }
    world.run(retried)
    #expect(retried.attempt == (flaws.contains(404) ? 1 : 3))
  }

  @Test func `a predicate receives only the timeout of an attempt`() {
    let seen = Log<String>()
    let policy = RetryPolicy.immediate.attempts(2).attemptTimeout(.seconds(5)).when { error in
      seen.add("\(error)")
      return true
    }
    let clock = world.simulation.environment.clock
    let slow = ResultOperation<Void>(retry: policy) {
      try? await clock.sleep(for: .seconds(60))
      throw Flaw(1)
    }
    world.run(slow)
    #expect(seen.entries == Array(repeating: "The time limit of 5 s was exceeded.", count: 2))
  }

  @Test func `a predicate receives the failure of an awaited operation without a reason`() {
    let (queue, seen) = (world.queue, Log<Bool>())
    let policy = RetryPolicy.immediate.attempts(3).when { error in
      seen.add((error as? OperationFailure)?.isCancellation == true)
      return false
    }
    let outer = ResultOperation<Void>(retry: policy) {
      let inner = Work.open("inner")
      inner.cancel()
      try await queue.run(inner)
    }
    world.run(outer)
    #expect(outer.attempt == 1)
    #expect(seen.entries == [true])
  }

  @Test func `a closure policy receives the root cause or all of several`() {
    let (queue, seen) = (world.queue, Log<[Int]>())
    let policy = RetryPolicy { _, error in
      let causes = (error as? OperationFailure)?.rootCauses.map(\.error) ?? [error]
      seen.add(flaws(causes))
      return nil
    }
    let one = ResultOperation<Int>(retry: policy) { try await queue.run(Self.call(7)) }
    let two = ResultOperation<Void>(retry: policy) {
      try await queue.run(
        GroupOperation {
          Work.failing("a", 1)
          Work.failing("b", 2)
        }
      )
    }
    two.addDependency(one)
    world.run(one, two)
    #expect(seen.entries == [[7], [1, 2]])
  }
}
