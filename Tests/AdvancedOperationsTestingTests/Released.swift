import Dispatch

/// Blocks one thread until another lets it go.
final class Released: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  func wait() { semaphore.wait() }
  func signal() { semaphore.signal() }
}
