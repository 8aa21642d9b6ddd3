import CoreOperations
import Dispatch
import TestSupport

/// Something that happens once, for threads and tasks to wait for; it stays open.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())

  var isOpen: Bool { state.withLock { $0.isOpen } }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for wake in waiting { wake() }
  }

  /// Blocks the thread until the gate is open.
  func pass() {
    let semaphore = DispatchSemaphore(value: 0)
    whenOpen { semaphore.signal() }
    semaphore.wait()
  }

  /// Suspends the task until the gate is open.
  func opened() async {
    await withCheckedContinuation { continuation in whenOpen { continuation.resume() } }
  }

  private func whenOpen(_ wake: @escaping @Sendable () -> Void) {
    let isOpen = state.withLock { state in
      if !state.isOpen { state.waiting.append(wake) }
      return state.isOpen
    }
    if isOpen { wake() }
  }
}

/// A gate that opens when it was counted down to nothing.
final class Countdown: Sendable {
  private let left: Locked<Int>
  let done = Gate()

  init(_ count: Int) { left = Locked(count) }

  func count() {
    let isLast = left.withLock { left in
      left -= 1
      return left == 0
    }
    if isLast { done.open() }
  }
}

extension Operation {
  /// Suspends the task until the operation says that it is executing.
  func untilExecuting() async {
    let gate = Gate()
    let token = observe(\.isExecuting, options: [.initial, .new]) { _, change in
      if change.newValue == true { gate.open() }
    }
    await gate.opened()
    token.invalidate()
  }

  /// The same, or until it is over, in case that it was only for a moment.
  func untilExecutingOrFinished() async {
    let gate = Gate()
    let token = observe(\.isExecuting, options: [.initial, .new]) { _, change in
      if change.newValue == true { gate.open() }
    }
    let end = observe(\.isFinished, options: [.initial, .new]) { _, change in
      if change.newValue == true { gate.open() }
    }
    await gate.opened()
    token.invalidate()
    end.invalidate()
  }
}

/// Runs a body on a thread of its own.
func launch(_ body: @escaping @Sendable () -> Void) { Threads.launch(body) }
