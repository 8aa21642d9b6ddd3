import ServiceSupport

/// What goes wrong with one request.
enum Fault: Equatable, Sendable {
  /// Nothing.
  case none
  /// It does nothing, and the answer says so.
  case fails
  /// It does what it is to do, and the answer says that it failed.
  case lies
  /// It does what it is to do, and there is no answer.
  case losesAnswer
  /// It is answered with 503.
  case isDown
  /// It is answered with 429.
  case tooMany
}

/// Decides what goes wrong with each request.
struct FaultDie: Sendable {
  private var generator: SeededGenerator
  /// Requests that may still be answered, of a bucket that fills up again within a second.
  private var tokens: Double?
  private var lastTime = Duration.zero

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  /// What goes wrong with a request that came at a time.
  ///
  /// - Parameters:
  ///   - mood: How the provider behaves.
  ///   - canLie: Whether the request does anything about which the answer could lie.
  ///   - now: The time, which doesn't go backwards.
  /// - Returns: The fault.
  mutating func fault(_ mood: Mood, canLie: Bool, now: Duration) -> Fault {
    let (fails, lies) = (generator.happens(mood.fail), generator.happens(mood.lie))
    let loses = generator.happens(mood.lose)
    if mood.isDown { return .isDown }
    if !takesToken(of: mood.rate, now) { return .tooMany }
    if fails { return .fails }
    if lies && canLie { return .lies }
    return loses ? .losesAnswer : .none
  }

  private mutating func takesToken(of rate: Int?, _ now: Duration) -> Bool {
    let passed = (now - lastTime) / .seconds(1)
    lastTime = now
    guard let rate else {
      tokens = nil
      return true
    }
    let limit = Double(rate)
    let there = min((tokens ?? limit) + passed * limit, limit)
    tokens = there >= 1 ? there - 1 : there
    return there >= 1
  }
}
