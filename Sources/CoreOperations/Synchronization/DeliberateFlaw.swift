#if DEBUG
import Synchronization

/// Mistakes that a test makes the library make, to show that the test finds them.
///
/// Only in debug builds, and only on threads of a simulation that asks for it.
package enum DeliberateFlaw: Int, Sendable, CaseIterable {
  /// What happens to an operation while a worker asks whether it may start is forgotten.
  case lostWakeUp
  /// A claim is looked at under the lock and taken under it, with the lock given back in between.
  case checkThenAct
  /// A cancelled wait for a claim frees a place, whichever operation has it.
  case anonymousWaiter

  private final class Active {
    let flaw: DeliberateFlaw
    init(_ flaw: DeliberateFlaw) { self.flaw = flaw }
  }

  private static let armed = Atomic(0)
  private static let current = ThreadLocal<Active>()

  /// Makes the mistake on the calling thread for as long as a body runs.
  package static func with(_ flaw: DeliberateFlaw?, _ body: () -> Void) {
    guard let flaw else {
      body()
      return
    }
    let outer = current.value
    let active = Active(flaw)
    armed.add(1, ordering: .relaxed)
    current.value = active
    body()
    withExtendedLifetime(active) { current.value = outer }
    armed.subtract(1, ordering: .relaxed)
  }

  /// Whether the mistake is to be made here.
  package var isMade: Bool {
    Self.armed.load(ordering: .relaxed) > 0 && Self.current.value?.flaw == self
  }
}
#endif
