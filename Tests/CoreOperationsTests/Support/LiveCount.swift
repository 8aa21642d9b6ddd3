import CoreOperations

/// Counts instances that are alive; the test awaits their end instead of guessing when it comes.
final class LiveCount: Sendable {
  private struct State {
    var alive = 0
    var made = 0
    var whenNone: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())

  var alive: Int { state.withLock { $0.alive } }
  var made: Int { state.withLock { $0.made } }

  func born() {
    state.withLock { state in
      state.alive += 1
      state.made += 1
    }
  }

  func died() {
    let wake = state.withLock { state -> [@Sendable () -> Void] in
      state.alive -= 1
      guard state.alive == 0 else { return [] }
      defer { state.whenNone = [] }
      return state.whenNone
    }
    for wake in wake { wake() }
  }

  /// Suspends the task until nothing is alive.
  func none() async {
    await withCheckedContinuation { continuation in
      let isNone = state.withLock { state in
        if state.alive > 0 { state.whenNone.append { continuation.resume() } }
        return state.alive == 0
      }
      if isNone { continuation.resume() }
    }
  }
}

/// Something for a closure to capture.
final class Token: Sendable {
  private let count: LiveCount
  private let atEnd: @Sendable () -> Void

  init(_ count: LiveCount = LiveCount(), atEnd: @escaping @Sendable () -> Void = {}) {
    self.count = count
    self.atEnd = atEnd
    count.born()
  }

  deinit {
    atEnd()
    count.died()
  }

  func touch() {}
}

/// A queue that is counted.
final class CountedQueue: OperationQueue, @unchecked Sendable {
  // Sendable: the count is.
  private let count: LiveCount

  init(_ count: LiveCount, _ executor: any OperationExecutor = DefaultExecutor.shared) {
    self.count = count
    super.init(executor: executor)
    count.born()
  }

  deinit { count.died() }
}

/// An operation that is counted.
final class Counted: Operation, @unchecked Sendable {
  private let count: LiveCount
  private let body: @Sendable () -> Void

  init(_ count: LiveCount, _ body: @escaping @Sendable () -> Void = {}) {
    self.count = count
    self.body = body
    super.init()
    count.born()
  }

  deinit { count.died() }

  override func main() { body() }
}
