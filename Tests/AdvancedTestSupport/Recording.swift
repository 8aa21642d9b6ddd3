package import AdvancedOperations

/// What happened, in order.
package final class Log<Entry: Sendable>: Sendable {
  private let list = Locked<[Entry]>([])

  package init() {}

  package var entries: [Entry] { list.withLock { $0 } }

  package func add(_ entry: Entry) { list.withLock { $0.append(entry) } }
}

/// A number that many threads change, and the largest value that it ever had.
package final class Counter: Sendable {
  private let state = Locked((now: 0, peak: 0))

  package init() {}

  package var count: Int { state.withLock { $0.now } }
  package var peak: Int { state.withLock { $0.peak } }

  /// Returns the value after the change.
  @discardableResult
  package func add(_ change: Int = 1) -> Int {
    state.withLock { state in
      state.now += change
      state.peak = max(state.peak, state.now)
      return state.now
    }
  }
}

/// Counts objects that are alive.
package final class LiveCount: Sendable {
  private struct State {
    var alive = 0
    var made = 0
    var whenNone: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())

  package init() {}

  package var alive: Int { state.withLock { $0.alive } }
  package var made: Int { state.withLock { $0.made } }

  package func token() -> Token {
    state.withLock { state in
      state.alive += 1
      state.made += 1
    }
    return Token(self)
  }

  /// Suspends the task until nothing is alive: the last owner may be a thread on its way out.
  package func none() async {
    await withCheckedContinuation { continuation in
      let isNone = state.withLock { state in
        if state.alive > 0 { state.whenNone.append { continuation.resume() } }
        return state.alive == 0
      }
      if isNone { continuation.resume() }
    }
  }

  fileprivate func died() {
    let wake = state.withLock { state -> [@Sendable () -> Void] in
      state.alive -= 1
      guard state.alive == 0 else { return [] }
      defer { state.whenNone = [] }
      return state.whenNone
    }
    for wake in wake { wake() }
  }
}

/// Something to own: for operations, observers, conditions and closures.
package final class Token: Sendable {
  private let count: LiveCount

  fileprivate init(_ count: LiveCount) { self.count = count }

  deinit { count.died() }

  package func touch() {}
}

/// Calls a closure when it is released.
package final class AtEnd: Sendable {
  private let body: @Sendable () -> Void

  package init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  deinit { body() }

  package func touch() {}
}

/// A value that a test changes.
package final class Changing<Value: Sendable>: Sendable {
  private let state: Locked<Value>
  package init(_ value: Value) { state = Locked(value) }
  package var value: Value {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}

/// Hears of every change of state, on the thread that makes it.
package final class Tracer: OperationTracer {
  package let body: @Sendable (AdvancedOperation, AdvancedOperation.State) -> Void

  package init(_ body: @escaping @Sendable (AdvancedOperation, AdvancedOperation.State) -> Void) {
    self.body = body
  }

  package func operation(_ operation: AdvancedOperation, entered state: AdvancedOperation.State) {
    body(operation, state)
  }
}
