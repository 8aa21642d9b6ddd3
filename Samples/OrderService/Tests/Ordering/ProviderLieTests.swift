import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import Testing

/// The provider answers something else than what it has done.
@Suite("When the payment provider lies, an order")
struct ProviderLieTests {
  let shop = Shop()

  private typealias Answer = @Sendable (Charge) -> ChargeAnswer

  /// Answers that confirm no charge and no refund.
  private static let lies: [Answer] = [
    { _ in ChargeAnswer() },
    { _ in ChargeAnswer(.charged) },
    { _ in ChargeAnswer(.refunded) },
    { ChargeAnswer(.pending, about: $0) },
    { changed($0) { $0.key = "zzz" } },
    { changed($0) { $0.amount = 1 } },
    { changed($0) { $0.currency = "USD" } },
    { changed($0) { $0.reference = "zzz" } },
    { changed($0) { $0.status = nil } },
  ]

  private static func changed(
    _ charge: Charge,
    _ change: (inout ChargeAnswer) -> Void
  ) -> ChargeAnswer {
    var answer = ChargeAnswer(.refunded, about: charge)
    change(&answer)
    return answer
  }

  @Test(arguments: lies.indices)
  func `a charge is refunded only when the provider confirms the refund`(index: Int) throws {
    let life = try Life(in: shop)
    shop.carrier.failures = .max
    shop.provider.refundMood = .answers(Self.lies[index])
    let id = try life.submit(.tea())
    // Long after the carrier has been given up.
    life.run(until: .seconds(600))
    #expect(try life.state(of: id).name == "rolling back")
    #expect(shop.provider.ledger["order-\(id)"] == .charged)
    let retry = try #require(life.desk.latestRetries(of: id)["refund"])
    #expect(retry.attempt > 10)
    shop.provider.refundMood = .works
    life.run()
    #expect(try life.state(of: id).name == "failed")
    #expect(shop.provider.ledger["order-\(id)"] == .refunded)
    #expect(life.desk.latestRetries(of: id).isEmpty)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `a charge is refunded however often the refund is answered with “charged”`()
    throws
  {
    let life = try Life(in: shop)
    shop.carrier.failures = .max
    shop.provider.refundMood = .answers { ChargeAnswer(.charged, about: $0) }
    let id = try life.submit(.tea())
    life.run(until: .seconds(600))
    #expect(try life.state(of: id).name == "rolling back")
    let reason = try #require(life.desk.latestRetries(of: id)["refund"]).reason
    #expect(reason.contains("the refund's status is “charged”"))
    shop.provider.refundMood = .works
    life.run()
    #expect(try life.state(of: id).failure?.kind == .notShipped)
    #expect(shop.mistakes.isEmpty)
  }

  @Test(arguments: lies.indices.dropFirst(2))
  func `is confirmed when its ledger confirms what the answer didn't`(index: Int) throws {
    let life = try Life(in: shop)
    shop.provider.next(.answers(Self.lies[index]))
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.provider.charges == ["order-\(id)": 1])
    #expect(shop.mistakes.isEmpty)
  }

  @Test(arguments: lies.indices)
  func `is confirmed when a look-up that confirms nothing is repeated`(index: Int) throws {
    let life = try Life(in: shop)
    shop.provider.next(.losesAnswer)
    shop.provider.nextLookUps(Self.lies[index])
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.provider.requests == ["charge", "look up", "look up"])
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `isn't failed by a look-up that says “declined” about another charge`() throws {
    let life = try Life(in: shop)
    shop.provider.next(.losesAnswer)
    shop.provider.nextLookUps { charge in
      var answer = ChargeAnswer(.declined, about: charge)
      answer.reference = "another"
      return answer
    }
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `knows the sum of its refund after a restart`() throws {
    let before = try Life(in: shop)
    shop.carrier.failures = .max
    shop.provider.refundMood = .isDown
    let id = try before.submit(.tea())
    before.run(until: .seconds(600))
    let life = try Life(in: shop)
    shop.provider.refundMood = .answers { charge in
      var answer = ChargeAnswer(.refunded, about: charge)
      answer.amount = 1
      return answer
    }
    life.run(until: .seconds(600))
    let reason = try #require(life.desk.latestRetries(of: id)["refund"]).reason
    #expect(reason.contains("its amount is “1”, and not “450”"))
    #expect(try life.state(of: id).name == "rolling back")
  }

  @Test func `a confirmed charge is refunded only with “refunded”`() throws {
    let before = try Life(in: shop)
    shop.carrier.failures = .max
    shop.provider.refundMood = .answers { ChargeAnswer(.voided, about: $0) }
    let id = try before.submit(.tea())
    before.run(until: .seconds(600))
    // And in the next run of the program, which knows the charge from its database.
    for life in [before, try Life(in: shop)] {
      life.run(until: .seconds(1_200))
      #expect(try life.state(of: id).name == "rolling back")
      let reason = try #require(life.desk.latestRetries(of: id)["refund"]).reason
      #expect(reason.contains("the refund's status is “voided”, and not “refunded”"))
    }
    let life = try Life(in: shop)
    shop.provider.refundMood = .works
    life.run()
    #expect(try life.state(of: id).failure?.kind == .notShipped)
    #expect(shop.provider.ledger["order-\(id)"] == .refunded)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `that was charged with another sum gets that sum back`() throws {
    let life = try Life(in: shop) {
      $0.stepTimeout = .seconds(10)
      $0.breakerFailures = .max
    }
    let wrong: Answer = { charge in
      var answer = ChargeAnswer(.charged, about: charge)
      answer.amount = 999
      return answer
    }
    shop.provider.mood = .answers(wrong)
    shop.provider.lookUpAnswer = wrong
    shop.provider.refundMood = .answers { ChargeAnswer(.voided, about: $0) }
    let id = try life.submit(.tea())
    life.run(until: .seconds(600))
    let voided = try #require(life.desk.latestRetries(of: id)["refund"]).reason
    #expect(voided.contains("the refund's status is “voided”"))
    shop.provider.refundMood = .answers { charge in
      var answer = ChargeAnswer(.refunded, about: charge)
      answer.amount = 450
      return answer
    }
    life.run(until: .seconds(1_200))
    let partial = try #require(life.desk.latestRetries(of: id)["refund"]).reason
    #expect(partial.contains("its amount is “450”, and not “999”"))
    #expect(try life.state(of: id).name == "rolling back")
    shop.provider.refundMood = .works
    life.run()
    #expect(try life.state(of: id).failure?.kind == .providerUnavailable)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `a charge isn't refunded with “voided” if the ledger says “charged”`() throws {
    let life = try Life(in: shop) {
      $0.stepTimeout = .seconds(10)
      $0.breakerFailures = .max
    }
    shop.provider.mood = .losesAnswer
    shop.provider.lookUpAnswer = { _ in ChargeAnswer() }
    let id = try life.submit(.tea())
    life.run(until: .seconds(5))
    shop.provider.refundMood = .answers { ChargeAnswer(.voided, about: $0) }
    life.run(until: .seconds(60))
    shop.provider.lookUpAnswer = nil
    life.run(until: .seconds(600))
    #expect(try life.state(of: id).name == "rolling back")
    shop.provider.refundMood = .works
    life.run()
    #expect(try life.state(of: id).failure?.kind == .providerUnavailable)
    #expect(shop.provider.ledger["order-\(id)"] == .refunded)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `is over with “voided” if it was never charged`() throws {
    let life = try Life(in: shop) {
      $0.stepTimeout = .seconds(10)
      $0.breakerFailures = .max
    }
    shop.provider.mood = .isDown
    shop.provider.refundMood = .answers { ChargeAnswer(.voided, about: $0) }
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id).failure?.kind == .providerUnavailable)
    #expect(shop.provider.requests.suffix(2) == ["refund", "look up"])
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `keeps the circuit closed for all others, as the provider has answered`() throws {
    let life = try Life(in: shop) {
      $0.stepTimeout = .seconds(10)
      $0.breakerFailures = 3
    }
    shop.carrier.failures = .max
    shop.provider.refundMood = .answers { ChargeAnswer(.charged, about: $0) }
    let bad = try (1...2).map { try life.submit(.tea(), key: "\($0)") }
    life.run(until: .seconds(600))
    for id in bad { #expect(try life.state(of: id).name == "rolling back") }
    #expect(life.desk.breaker.state == .closed)
  }
}
