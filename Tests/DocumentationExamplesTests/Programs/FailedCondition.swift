import AdvancedOperations
import AdvancedOperationsTesting
import Testing

/// A unit test of what a shop answers when a condition of an order does not hold.
///
/// The time is virtual: the bank answers after a minute, and the test after none.
@Suite struct `A unit test of a condition that fails` {
  struct PaymentRefused: Error, Equatable {
    var code: Int
  }

  struct Solvent: OperationCondition {
    let name = "solvent"
    let answer: OperationConditionResult

    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      do {
        try await operation.environment.clock.sleep(for: .seconds(60))
      } catch {
        return .failed(error)
      }
      return answer
    }
  }

  enum Response: Equatable {
    case ok(String)
    case noContent(String)
    case gatewayTimeout
    case clientClosedRequest
    case paymentRequired(Int)
    case internalServerError([String])
  }

  static func response(
    _ queue: AdvancedOperationQueue,
    _ answer: OperationConditionResult
  ) async throws -> Response {
    let order = ResultOperation(name: "order") { "ordered" }
    order.addCondition(Solvent(answer: answer))
    return try await response(queue, order)
  }

  static func response(
    _ queue: AdvancedOperationQueue,
    _ order: ResultOperation<String>
  ) async throws -> Response {
    let receipt = order.then(name: "receipt") { text in "receipt: \(text)" }
    do {
      return .ok(try await queue.run(receipt))
    } catch let failure as OperationFailure {
      if let reason = failure.skipReason { return .noContent(reason) }
      if failure.isTimeout { return .gatewayTimeout }
      if failure.isCancellation { return .clientClosedRequest }
      if let refusal = failure.first(PaymentRefused.self) { return .paymentRequired(refusal.code) }
      return .internalServerError(failure.rootCauses.map { "\($0.origin)" })
    }
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let queue: AdvancedOperationQueue

  init() {
    queue = AdvancedOperationQueue(environment: simulation.environment)
  }

  @Test func `the order is made when the condition holds`() throws {
    let response = try simulation.run { [queue] in try await Self.response(queue, .satisfied) }
    #expect(response == .ok("receipt: ordered"))
    #expect(simulation.now == .seconds(60))
  }

  @Test func `the error of the condition decides`() throws {
    let response = try simulation.run { [queue] in
      try await Self.response(queue, .failed(PaymentRefused(code: 51)))
    }
    #expect(response == .paymentRequired(51))
    #expect(simulation.now == .seconds(60))
  }

  @Test func `there is nothing to do`() throws {
    let response = try simulation.run { [queue] in
      try await Self.response(queue, .skipped(reason: "paid already"))
    }
    #expect(response == .noContent("paid already"))
  }

  @Test func `an unknown error is told with its way`() throws {
    struct Unknown: Error {}
    let response = try simulation.run { [queue] in
      try await Self.response(queue, .failed(Unknown()))
    }
    #expect(
      response == .internalServerError(["dependency “order”, condition “solvent”"])
    )
  }

  @Test func `the bank takes too long`() throws {
    let order = ResultOperation(name: "order") { "ordered" }
    order.addCondition(Solvent(answer: .satisfied))
    order.addObserver(TimeoutObserver(.seconds(10), of: .evaluating))
    let response = try simulation.run { [queue] in try await Self.response(queue, order) }
    #expect(response == .gatewayTimeout)
    #expect(simulation.now == .seconds(10))
  }

  @Test func `the order is cancelled while the bank is asked`() throws {
    let order = ResultOperation(name: "order") { "ordered" }
    order.addCondition(Solvent(answer: .failed(PaymentRefused(code: 51))))
    let clock = simulation.environment.clock
    let response = try simulation.run { [queue] in
      async let response = Self.response(queue, order)
      try await clock.sleep(for: .seconds(20))
      order.cancel()
      return try await response
    }
    #expect(response == .clientClosedRequest)
    #expect(simulation.now == .seconds(20))
  }

  @Test func `the failure knows the error, its way, and what it is not`() throws {
    let order = ResultOperation(name: "order") { "ordered" }
    order.addCondition(Solvent(answer: .failed(PaymentRefused(code: 51))))
    queue.addOperation(order)
    simulation.run()

    let refusal = try expectConditionFailure(
      of: order,
      as: PaymentRefused.self,
      condition: "solvent"
    )
    #expect(refusal == PaymentRefused(code: 51))
    let failure = try #require(order.outcome?.failure)
    #expect(failure.first(PaymentRefused.self) == refusal)
    #expect(failure.rootCauses.count == 1)
    #expect(failure.rootCauses.first?.origin == .condition("solvent"))
    #expect(!failure.isCancellation)
    #expect(failure.cancellation == nil)
    #expect(!failure.isTimeout)
    #expect(failure.skipReason == nil)
    try expectNoStrays(in: simulation)
  }
}
