import Synchronization

/// Tells recorders which event came to a state machine in which state.
///
/// In debug builds only; elsewhere a call is nothing.
@usableFromInline
package enum TransitionTrace {
  package typealias Sink = @Sendable (_ machine: String, _ state: String, _ event: String) -> Void

  /// Whether transitions can be recorded in this build.
  package static var isAvailable: Bool {
    #if DEBUG
    true
    #else
    false
    #endif
  }

  private static let count = Atomic(0)
  private static let armed = Atomic(0)
  private static let sinks = Locked<[Int: Sink]>([:])

  /// Adds a sink, which is called on any thread and perhaps with a lock of the machine held.
  package static func add(_ sink: @escaping Sink) -> Int {
    let number = count.add(1, ordering: .relaxed).newValue
    sinks.withLock { $0[number] = sink }
    armed.add(1, ordering: .relaxed)
    return number
  }

  package static func remove(_ number: Int) {
    armed.subtract(1, ordering: .relaxed)
    let sink = sinks.withLock { $0.removeValue(forKey: number) }
    withExtendedLifetime(sink) {}
  }

  /// An event came.
  @inlinable
  package static func note(
    _ machine: String,
    _ state: @autoclosure () -> String,
    _ event: @autoclosure () -> String
  ) {
    #if DEBUG
    if isArmed { tell(machine, state(), event()) }
    #endif
  }

  // One load where no recorder is.
  @usableFromInline static var isArmed: Bool { armed.load(ordering: .relaxed) > 0 }

  @usableFromInline static func tell(_ machine: String, _ state: String, _ event: String) {
    uninterrupted {
      for sink in sinks.withLock({ $0.values.map { $0 } }) { sink(machine, state, event) }
    }
  }
}
