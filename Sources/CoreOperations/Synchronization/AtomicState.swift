public import Synchronization

/// A state machine small enough for one atomic word: a pure value, stepped by compare and exchange.
///
/// Every transition is an acquiring and releasing read-modify-write, so a thread that observes a
/// state also observes what happened before it was entered. Reads acquire.
@usableFromInline
package struct AtomicState<State: RawRepresentable & Sendable>: ~Copyable, Sendable
where State.RawValue == UInt32 {
  @usableFromInline let word: Atomic<UInt32>

  @inlinable
  package init(_ initial: State) { word = Atomic(initial.rawValue) }

  /// The state at this moment.
  @inlinable
  package var current: State { decode(word.load(ordering: .acquiring)) }

  /// Applies one event, retried until no other thread got in between, and returns its action.
  ///
  /// - Parameter event: Pure: it may run several times and must do nothing but change the state.
  /// - Returns: What the event returned the last time.
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

  // Inlined, so that of a state that is read only the bits are tested that the reader asks for.
  @inlinable @inline(__always)
  func decode(_ raw: UInt32) -> State {
    guard let state = State(rawValue: raw) else { corrupt(raw) }
    return state
  }

  @usableFromInline @inline(never)
  func corrupt(_ raw: UInt32) -> Never { trap("corrupt state \(raw) of \(State.self)") }
}
