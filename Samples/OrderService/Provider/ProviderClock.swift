/// Where the provider's time comes from; tests have one of their own.
public struct ProviderClock: Sendable {
  /// The time since any moment.
  public var now: @Sendable () -> Duration
  /// Waits.
  public var sleep: @Sendable (Duration) async throws -> Void

  /// Creates a clock of two functions.
  public init(
    now: @escaping @Sendable () -> Duration,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  /// The clock of the system.
  public static let continuous: ProviderClock = {
    let begin = ContinuousClock.now
    return ProviderClock(now: { .now - begin }, sleep: { try await Task.sleep(for: $0) })
  }()
}
