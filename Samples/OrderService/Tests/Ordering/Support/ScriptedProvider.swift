import AdvancedOperations
import OrderWorkflow
import Synchronization

/// A payment provider that does what a test says, and keeps a ledger that tells the truth.
final class ScriptedProvider: PaymentProvider {
  /// What becomes of a request.
  enum Mood: Sendable {
    case works
    /// The request doesn't arrive.
    case isDown
    /// The request is done, and its answer is lost.
    case losesAnswer
    /// The request is done, and its answer says that it isn't.
    case lies
    /// The card is refused.
    case declines
    /// The answer is “declined”, and the ledger has nothing.
    case declinesWithoutRecord
    /// The request is wrong, and a repetition is wrong too.
    case refuses
    /// The provider does nothing, and asks to wait.
    case tooMany(retryAfter: Duration)
    /// The answer takes so long; what is cancelled meanwhile has not arrived.
    case takes(Duration)
    /// There is no answer, and a cancel ends the request as a network does: with an error of its own.
    case breaksOff
    /// There is no answer, and the request arrives when so much time has passed.
    case delivers(after: Duration)
    /// A charge is done, a refund isn't, and the answer is another one.
    case answers(@Sendable (Charge) -> ChargeAnswer)
  }

  private struct State {
    var ledger: [String: ChargeStatus] = [:]
    /// How often a card was charged under a key.
    var charges: [String: Int] = [:]
    var moods: [Mood] = []
    var refundMoods: [Mood] = []
    var mood = Mood.works
    var refundMood = Mood.works
    var lookUpAnswer: (@Sendable (Charge) -> ChargeAnswer)?
    var lookUps: [@Sendable (Charge) -> ChargeAnswer] = []
    var requests: [(name: String, time: Duration)] = []
  }

  private let state = Mutex(State())

  // MARK: What a test says

  /// From now on each charge meets this.
  var mood: Mood {
    get { state.withLock { $0.mood } }
    set { state.withLock { $0.mood = newValue } }
  }

  /// From now on each refund meets this.
  var refundMood: Mood {
    get { state.withLock { $0.refundMood } }
    set { state.withLock { $0.refundMood = newValue } }
  }

  /// The next charges meet these, one each.
  func next(_ moods: Mood...) { state.withLock { $0.moods = moods } }

  /// The next refunds meet these, one each.
  func nextRefunds(_ moods: Mood...) { state.withLock { $0.refundMoods = moods } }

  /// The next look-ups get these answers, one each.
  func nextLookUps(_ answers: (@Sendable (Charge) -> ChargeAnswer)...) {
    state.withLock { $0.lookUps = answers }
  }

  /// From now on each look-up gets this answer; nil for the truth.
  var lookUpAnswer: (@Sendable (Charge) -> ChargeAnswer)? {
    get { state.withLock { $0.lookUpAnswer } }
    set { state.withLock { $0.lookUpAnswer = newValue } }
  }

  // MARK: What a test finds

  /// What there is under each key.
  var ledger: [String: ChargeStatus] { state.withLock { $0.ledger } }

  /// How often a card was charged under a key.
  var charges: [String: Int] { state.withLock { $0.charges } }

  /// What was requested: `charge`, `look up`, `refund`.
  var requests: [String] { state.withLock { $0.requests.map(\.name) } }

  /// When that was.
  var requestTimes: [Duration] { state.withLock { $0.requests.map(\.time) } }

  // MARK: The port

  func charge(_ charge: Charge, cardToken: String) async throws -> ChargeAnswer {
    let clock = note("charge")
    let mood = state.withLock { $0.moods.isEmpty ? $0.mood : $0.moods.removeFirst() }
    switch mood {
    case .works: return enter(charge, .charged)
    case .isDown: throw PaymentProviderError.noAnswer("no connection")
    case .losesAnswer:
      _ = enter(charge, .charged)
      throw PaymentProviderError.noAnswer("the connection was lost")
    case .lies:
      _ = enter(charge, .charged)
      return ChargeAnswer(.declined, reason: "a lie")
    case .declines: return enter(charge, .declined(reason: "no money"))
    case .declinesWithoutRecord: return ChargeAnswer(.declined, reason: "a fault")
    case .refuses: throw PaymentProviderError.refused("the token is none")
    case .tooMany(let delay): throw PaymentProviderError.unavailable("429", retryAfter: delay)
    case .takes(let duration):
      try await clock.sleep(for: duration)
      return enter(charge, .charged)
    case .breaksOff:
      try? await clock.sleep(for: .seconds(3_600))
      throw PaymentProviderError.noAnswer("the connection was closed")
    case .delivers(let duration):
      _ = clock.schedule(at: clock.now + duration) { _ = self.enter(charge, .charged) }
      throw PaymentProviderError.noAnswer("the connection was lost")
    case .answers(let answer):
      _ = enter(charge, .charged)
      return answer(charge)
    }
  }

  func lookUp(_ charge: Charge) async throws -> ChargeAnswer? {
    note("look up")
    let lie = state.withLock { $0.lookUps.isEmpty ? $0.lookUpAnswer : $0.lookUps.removeFirst() }
    return lie?(charge) ?? entry(of: charge)
  }

  func refund(_ charge: Charge) async throws -> ChargeAnswer {
    let clock = note("refund")
    let mood = state.withLock { state in
      state.refundMoods.isEmpty ? state.refundMood : state.refundMoods.removeFirst()
    }
    switch mood {
    case .works, .lies, .declines, .declinesWithoutRecord: break
    case .isDown, .delivers, .breaksOff: throw PaymentProviderError.noAnswer("no connection")
    case .refuses: throw PaymentProviderError.refused("too late")
    case .tooMany(let delay): throw PaymentProviderError.unavailable("429", retryAfter: delay)
    case .takes(let duration): try await clock.sleep(for: duration)
    case .losesAnswer:
      state.withLock { $0.ledger[charge.key] = .refunded }
      throw PaymentProviderError.noAnswer("the connection was lost")
    case .answers(let answer): return answer(charge)
    }
    state.withLock { $0.ledger[charge.key] = .refunded }
    return ChargeAnswer(.refunded, about: charge)
  }

  // MARK: The ledger

  /// The truth about a charge.
  private func entry(of charge: Charge) -> ChargeAnswer? {
    switch ledger[charge.key] {
    case .charged: ChargeAnswer(.charged, about: charge)
    case .declined(let reason): ChargeAnswer(.declined, about: charge, reason: reason)
    case .refunded: ChargeAnswer(.refunded, about: charge)
    case nil: nil
    }
  }

  /// Enters a request, unless there was one with the key.
  private func enter(_ charge: Charge, _ status: ChargeStatus) -> ChargeAnswer {
    state.withLock { state in
      if state.ledger[charge.key] != nil { return }
      if status == .charged { state.charges[charge.key, default: 0] += 1 }
      state.ledger[charge.key] = status
    }
    return entry(of: charge) ?? ChargeAnswer()
  }

  /// Notes a request, and gives the clock of the operation that makes it.
  @discardableResult
  private func note(_ request: String) -> OperationClock {
    let clock = (AdvancedOperation.current?.environment ?? OperationEnvironment()).clock
    state.withLock { $0.requests.append((request, clock.now)) }
    return clock
  }
}
