#if DEBUG
import Synchronization

/// Lets a simulation interrupt a thread whenever it is about to access shared state.
///
/// The interruption works only in debug builds, and only while a simulation requests it. A release build
/// doesn't contain this code. A thread that holds a lock is never interrupted, so that no other thread has to
/// wait for it.
@usableFromInline
package enum Preemption {
  /// A thread of a simulation.
  package final class Thread: Sendable {
    // Only the thread itself uses these properties.
    private let depth = Atomic(0)
    private let point: @Sendable () -> Void

    /// - Parameter point: A closure that is called where the thread may be interrupted, and returns when it
    ///   may continue.
    package init(_ point: @escaping @Sendable () -> Void) { self.point = point }

    fileprivate func mayBeInterrupted() {
      guard depth.load(ordering: .relaxed) == 0 else { return }
      withoutInterruption { point() }
    }

    fileprivate func deepen(by step: Int) { depth.add(step, ordering: .relaxed) }

    /// Runs a body in which the thread isn't interrupted.
    package func withoutInterruption<Result>(_ body: () -> Result) -> Result {
      deepen(by: 1)
      defer { deepen(by: -1) }
      return body()
    }
  }

  private static let armed = Atomic(0)
  private static let current = ThreadLocal<Thread>()

  /// A Boolean value that indicates whether a simulation interrupts threads at this moment.
  @usableFromInline static var isArmed: Bool { armed.load(ordering: .relaxed) > 0 }

  /// A Boolean value that indicates whether the calling thread can be interrupted.
  static var isInterruptible: Bool { isArmed && current.value != nil }

  /// Makes the calling thread interruptible while a body runs.
  package static func run(_ thread: Thread, _ body: () -> Void) {
    armed.add(1, ordering: .relaxed)
    current.value = thread
    body()
    current.value = nil
    armed.subtract(1, ordering: .relaxed)
  }

  /// Runs a body in which the calling thread isn't interrupted.
  @usableFromInline
  package static func without<Result>(_ body: () -> Result) -> Result {
    guard let thread = current.value else { return body() }
    return thread.withoutInterruption(body)
  }

  @usableFromInline static func lockWanted() {
    guard let thread = current.value else { return }
    thread.mayBeInterrupted()
    thread.deepen(by: 1)
  }

  @usableFromInline static func lockGivenBack() { current.value?.deepen(by: -1) }

  @usableFromInline static func stateWanted() { current.value?.mayBeInterrupted() }
}
#endif

/// A Boolean value that indicates whether a simulation interrupts the calling thread.
///
/// Then the behavior of the thread must not depend on the rest of the process.
var isInterruptible: Bool {
  #if DEBUG
  Preemption.isInterruptible
  #else
  false
  #endif
}

/// Runs a body in which no simulation interrupts the thread.
@inlinable
package func uninterrupted(_ body: () -> Void) {
  #if DEBUG
  Preemption.without(body)
  #else
  body()
  #endif
}
