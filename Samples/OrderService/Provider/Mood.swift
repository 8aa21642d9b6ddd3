/// How the provider behaves: what goes wrong with requests, and how often.
///
/// Its JSON has only what isn't as usual: `{"fail": 0.3, "slow": "2s"}`.
public struct Mood: Sendable, Hashable {
  /// How often a request is answered with 500 and does nothing, from 0 to 1.
  public var fail = 0.0
  /// How often a request does what it is to do, and the answer says that it failed.
  public var lie = 0.0
  /// How often a request does what it is to do, and the connection is closed without an answer.
  public var lose = 0.0
  /// How long a request takes, half of it before it does anything and half of it afterwards.
  public var slow = Duration.zero
  /// Whether every request is answered with 503.
  public var isDown = false
  /// How many requests a second are answered, nil for any number; others get 429.
  public var rate: Int?

  /// Creates the usual behaviour: every request is answered at once, with the truth.
  public init() {}
}
