import CoreOperations
import TestSupport

extension Operation {
  /// Suspends the task until the operation says that it is executing.
  func untilExecuting() async {
    let gate = Latch()
    let token = observe(\.isExecuting, options: [.initial, .new]) { _, change in
      if change.newValue == true { gate.open() }
    }
    await gate.opened()
    token.invalidate()
  }

  /// The same, or until it is over, in case that it was only for a moment.
  func untilExecutingOrFinished() async {
    let gate = Latch()
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
