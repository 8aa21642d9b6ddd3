import AdvancedOperations
import AdvancedOperationsTesting
import Synchronization
import Testing

/// Calls of an interface that takes ten in a second: ten at once, then one each tenth of a second.
///
/// The limit is written where the calls are made; that its key is the same is what they share.
@Suite struct `A program that calls a rate-limited interface` {
  final class Payments: Sendable {
    private let times = Mutex<[Duration]>([])

    var callTimes: [Duration] { times.withLock { $0 } }

    func call() {
      guard let clock = AdvancedOperation.current?.environment.clock else { return }
      let now = clock.now
      times.withLock { $0.append(now) }
    }
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let queue: AdvancedOperationQueue
  let payments = Payments()

  init() {
    queue = AdvancedOperationQueue(environment: simulation.environment)
  }

  @Test func `no call is early, and none is later than it has to be`() {
    let begin = simulation.environment.clock.now
    for number in 1...25 {
      let call = ResultOperation(name: "call \(number)") { [payments] in payments.call() }
      call.addClaim(RateLimit("payments", 10, per: .seconds(1)))
      queue.addOperation(call)
    }
    simulation.run()
    let expected =
      Array(repeating: Duration.zero, count: 10) + (1...15).map { .milliseconds(100 * $0) }
    #expect(payments.callTimes.map { $0 - begin } == expected)
    #expect(simulation.now == .milliseconds(1500))
  }

  @Test func `the limit is one for all queues`() {
    let others = AdvancedOperationQueue(environment: simulation.environment)
    for queue in [queue, others] {
      for _ in 1...10 {
        let call = ResultOperation { [payments] in payments.call() }
        call.addClaim(RateLimit("payments", 10, per: .seconds(1)))
        queue.addOperation(call)
      }
    }
    simulation.run()
    #expect(payments.callTimes.count == 20)
    #expect(simulation.now == .seconds(1))
  }

  @Test func `another key is another limit`() {
    for number in 1...20 {
      let call = ResultOperation { [payments] in payments.call() }
      call.addClaim(RateLimit(number % 2 == 0 ? "payments" : "refunds", 10, per: .seconds(1)))
      queue.addOperation(call)
    }
    simulation.run()
    #expect(payments.callTimes.count == 20)
    #expect(simulation.now == .zero)
  }

  @Test func `a call that gives up waiting leaves its place to the next call`() throws {
    let calls = (1...12).map { number in
      let call = ResultOperation(name: "call \(number)") { [payments] in payments.call() }
      call.addClaim(RateLimit("payments", 10, per: .seconds(1)))
      return call
    }
    queue.addOperations(calls)
    try simulation.run(until: { payments.callTimes.count == 10 })
    let waiting = calls.filter { !$0.isFinished && !$0.isExecuting }
    try #require(waiting.count == 2)
    waiting[0].cancel()
    simulation.run()
    try expectOutcome(of: waiting[0], is: .cancelled)
    try expectOutcome(of: waiting[1], is: .succeeded)
    #expect(simulation.now == .milliseconds(100))
  }

  @Test func `a call that is not to wait fails with the limit`() throws {
    for _ in 1...10 {
      let call = AdvancedOperation()
      call.addClaim(RateLimit("payments", 10, per: .seconds(1)))
      queue.addOperation(call)
    }
    simulation.run()
    let call = AdvancedOperation(name: "eleventh")
    call.addClaim(RateLimit("payments", 10, per: .seconds(1), whenBusy: .fail))
    queue.addOperation(call)
    simulation.run()
    try expectConditionFailure(
      of: call,
      is: OperationClaimError.rateExceeded(count: 10, duration: .seconds(1)),
      condition: "payments"
    )
  }
}
