/// What code waits for that is no operation's: a simulation runs such code, and says what it waits
/// for when it doesn't return.
package final class WaitNotes: Sendable {
  /// Where the waits of the running code are noted; nil for nowhere.
  @TaskLocal package static var current: WaitNotes?

  private let operations = Locked<[UInt64: Operation]>([:])

  package init() {}

  /// The operations that are waited for, in the order in which the waits began.
  package var awaited: [Operation] {
    operations.withLock { $0.sorted { $0.key < $1.key }.map(\.value) }
  }

  /// A wait begins.
  func note(_ id: UInt64, for operation: Operation) {
    operations.withLock { $0[id] = operation }
  }

  /// A wait is over.
  func end(_ id: UInt64) {
    let operation = operations.withLock { $0.removeValue(forKey: id) }
    withExtendedLifetime(operation) {}
  }
}
