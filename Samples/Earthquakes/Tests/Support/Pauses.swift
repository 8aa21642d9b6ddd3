import Synchronization

/// Pauses that were asked for and not made.
final class Pauses: Sendable {
  private let list = Mutex<[Duration]>([])

  var count: Int { list.withLock { $0.count } }

  var total: Duration { list.withLock { $0.reduce(.zero, +) } }

  @Sendable func add(_ pause: Duration) { list.withLock { $0.append(pause) } }
}
