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
    /// The answer takes so long; what is cancelled meanwhile has not arrived.
    case takes(Duration)
    /// There is no answer, and a cancel ends the request as a network does: with an error of its own.
    case breaksOff
    /// There is no answer, and the request arrives when so much time has passed.
    case delivers(after: Duration)
  }

  private struct State {
    var ledger: [String: ChargeStatus] = [:]
    /// How often a card was charged under a key.
    var charges: [String: Int] = [:]
    var moods: [Mood] = []
    var refundMoods: [Mood] = []
    var mood = Mood.works
    var refundMood = Mood.works
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

  func charge(
    _ amount: Money,
    for order: OrderID,
    cardToken: String,
    key: String
  ) async throws -> ChargeStatus {
    let clock = note("charge")
    let mood = state.withLock { $0.moods.isEmpty ? $0.mood : $0.moods.removeFirst() }
    switch mood {
    case .works: return enter(key, .charged)
    case .isDown: throw PaymentProviderError.noAnswer("no connection")
    case .losesAnswer:
      _ = enter(key, .charged)
      throw PaymentProviderError.noAnswer("the connection was lost")
    case .lies:
      _ = enter(key, .charged)
      return .declined(reason: "a lie")
    case .declines: return enter(key, .declined(reason: "no money"))
    case .declinesWithoutRecord: return .declined(reason: "a fault")
    case .refuses: throw PaymentProviderError.refused("the token is none")
    case .takes(let duration):
      try await clock.sleep(for: duration)
      return enter(key, .charged)
    case .breaksOff:
      try? await clock.sleep(for: .seconds(3_600))
      throw PaymentProviderError.noAnswer("the connection was closed")
    case .delivers(let duration):
      _ = clock.schedule(at: clock.now + duration) { _ = self.enter(key, .charged) }
      throw PaymentProviderError.noAnswer("the connection was lost")
    }
  }

  func charge(
    forKey key: String,
    of amount: Money,
    for order: OrderID
  ) async throws -> ChargeStatus? {
    note("look up")
    return state.withLock { $0.ledger[key] }
  }

  func refund(key: String) async throws {
    let clock = note("refund")
    let mood = state.withLock { state in
      state.refundMoods.isEmpty ? state.refundMood : state.refundMoods.removeFirst()
    }
    switch mood {
    case .works, .lies, .declines, .declinesWithoutRecord: break
    case .isDown, .delivers, .breaksOff: throw PaymentProviderError.noAnswer("no connection")
    case .refuses: throw PaymentProviderError.refused("too late")
    case .takes(let duration): try await clock.sleep(for: duration)
    case .losesAnswer:
      state.withLock { $0.ledger[key] = .refunded }
      throw PaymentProviderError.noAnswer("the connection was lost")
    }
    state.withLock { $0.ledger[key] = .refunded }
  }

  // MARK: The ledger

  /// Enters a request, unless there was one with the key.
  private func enter(_ key: String, _ status: ChargeStatus) -> ChargeStatus {
    state.withLock { state in
      if let known = state.ledger[key] { return known }
      if status == .charged { state.charges[key, default: 0] += 1 }
      state.ledger[key] = status
      return status
    }
  }

  /// Notes a request, and gives the clock of the operation that makes it.
  @discardableResult
  private func note(_ request: String) -> OperationClock {
    let clock = (AdvancedOperation.current?.environment ?? OperationEnvironment()).clock
    state.withLock { $0.requests.append((request, clock.now)) }
    return clock
  }
}
