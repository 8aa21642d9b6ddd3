import AdvancedOperations
import Synchronization

/// Waits for a token of the bucket that all instances share.
///
/// The operations of an instance stand in one line, for which tokens are taken together: the store
/// isn't asked by each of thousands that wait.
final class SharedRate: OperationCondition {
  private struct State {
    var waiting: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    var last = 0
    /// Those that don't stand in the line yet, and weren't cancelled.
    var coming: Set<Int> = []
    var isAsking = false
  }

  /// The operation was cancelled while it stood in the line.
  struct Left: Error {}

  private let bucket: any RequestBucket
  private let options: OrderDesk.Options
  /// Runs what asks the store.
  private let queue: AdvancedOperationQueue
  private let state = Mutex(State())

  init(_ bucket: any RequestBucket, options: OrderDesk.Options, queue: AdvancedOperationQueue) {
    self.bucket = bucket
    self.options = options
    self.queue = queue
  }

  var name: String { "rate of all instances" }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await turn() ? .satisfied : .failed(Left())
  }

  /// Waits for a token; returns false when the task was cancelled instead.
  private func turn() async -> Bool {
    let number = state.withLock { state in
      state.last += 1
      state.coming.insert(state.last)
      return state.last
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (isCancelled, mustAsk) = state.withLock { state in
          if state.coming.remove(number) == nil { return (true, false) }
          state.waiting.append((number, continuation))
          defer { state.isAsking = true }
          return (false, !state.isAsking)
        }
        if isCancelled { continuation.resume(returning: false) }
        if mustAsk { queue.addOperation(ResultOperation(name: "tokens") { await self.ask() }) }
      }
    } onCancel: {
      let left = state.withLock { state in
        guard let index = state.waiting.firstIndex(where: { $0.number == number }) else {
          state.coming.remove(number)
          return nil as CheckedContinuation<Bool, Never>?
        }
        return state.waiting.remove(at: index).continuation
      }
      left?.resume(returning: false)
    }
  }

  /// Takes tokens for those that wait, until none does.
  private func ask() async {
    let (capacity, period) = (options.providerRequests, options.providerPeriod)
    // Not less than the time of some tokens: what waits longer takes more of them at once.
    let pause = max(period / capacity, .milliseconds(20))
    var delay = options.firstStoreDelay
    while true {
      let wanted = state.withLock { state in
        if state.waiting.isEmpty { state.isAsking = false }
        return state.waiting.count
      }
      if wanted == 0 { return }
      // What the store throws is over when it works again: until then no turn comes.
      guard
        let taken = try? await bucket.takeTokens(wanted, capacity: capacity, period: period)
      else {
        try? await queue.environment.clock.sleep(for: delay)
        delay = min(delay * 2, options.longestStoreDelay)
        continue
      }
      delay = options.firstStoreDelay
      let count = max(taken, 0)
      let next = state.withLock { state in
        let next = Array(state.waiting.prefix(count))
        state.waiting.removeFirst(next.count)
        return next
      }
      for waiter in next { waiter.continuation.resume(returning: true) }
      if count < wanted { try? await queue.environment.clock.sleep(for: pause) }
    }
  }
}
