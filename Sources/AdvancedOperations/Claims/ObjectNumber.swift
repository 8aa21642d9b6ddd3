import Synchronization

/// A number that nothing else in the process has; unlike an address, it isn't used again.
package struct ObjectNumber: Hashable, Sendable {
  // Relaxed: it orders nothing, it only has to differ.
  private static let last = Atomic<UInt64>(0)

  private let value: UInt64

  package init() { value = Self.last.add(1, ordering: .relaxed).newValue }
}
