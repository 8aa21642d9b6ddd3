public import Synchronization

/// A state machine in one atomic word: a pure value, changed by compare and exchange.
///
/// Every transition is an acquiring and releasing read-modify-write. So a thread that observes a state also
/// observes the memory writes before the state was entered. Reads acquire.
@usableFromInline
package struct AtomicState<State: RawRepresentable & Sendable>: ~Copyable, Sendable
where State.RawValue == UInt32 {
  @usableFromInline let word: Atomic<UInt32>

  @inlinable
  package init(_ initial: State) { word = Atomic(initial.rawValue) }

  /// The state at this moment.
  @inlinable
  package var current: State { decode(word.load(ordering: .acquiring)) }

  /// Applies one event, repeatedly until no other thread has interfered, and returns its action.
  ///
  /// - Parameter event: A pure function, which may run several times and must only change the state.
  /// - Returns: The result of the event's last run.
  @inlinable
  package func step<Action>(_ event: (inout State) -> Action) -> Action {
    #if DEBUG
    if Preemption.isArmed { Preemption.stateWanted() }
    #endif
    var seen = word.load(ordering: .acquiring)
    while true {
      var state = decode(seen)
      let action = event(&state)
      let next = state.rawValue
      if next == seen { return action }
      let (exchanged, original) = word.weakCompareExchange(
        expected: seen,
        desired: next,
        successOrdering: .acquiringAndReleasing,
        failureOrdering: .acquiring
      )
      if exchanged { return action }
      seen = original
    }
  }

  // The property is inlined, so that a reader tests only the bits of the state that it needs.
  @inlinable @inline(__always)
  func decode(_ raw: UInt32) -> State {
    guard let state = State(rawValue: raw) else { corrupt(raw) }
    return state
  }

  @usableFromInline @inline(never)
  func corrupt(_ raw: UInt32) -> Never { internalError("\(raw) isn't a state of \(State.self)") }
}
