import AdvancedOperations
import OrderWorkflow
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Keeps the pages of all operators up to date.
///
/// While a page is open, the feed looks at the desk a few times a second if operations have changed
/// meanwhile, and once a second otherwise, and sends what is new to all pages. A look that takes long is
/// followed by a pause of ten times as long. However many orders
/// go through, a page gets a bounded number of messages; one that is slow gets the last. Where nothing
/// changes, the same is sent again every now and then, so that the connections stay.
final class LiveFeed: OperationObserver {
  private struct State {
    var viewers: [Int: AsyncStream<String>.Continuation] = [:]
    var nextViewer = 0
    var task: Task<Void, Never>?
    var last: String?
    var lastTime: ContinuousClock.Instant?
    var counts = PageState.Counts()
    var hasChanged = true
  }

  private let desk: OrderDesk
  private let state = Mutex(State())
  private let heartbeat: Duration
  private let explanation: SharedExplanation
  private static let interval = Duration.milliseconds(300)

  init(
    desk: OrderDesk,
    explanation: SharedExplanation,
    heartbeat: Duration = .seconds(15)
  ) {
    self.desk = desk
    self.explanation = explanation
    self.heartbeat = heartbeat
  }

  /// What a page is to show, as JSON: at once as it is now, then whenever that has changed.
  var updates: AsyncStream<String> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let viewer = state.withLock { state in
        let viewer = state.nextViewer
        state.nextViewer += 1
        state.viewers[viewer] = continuation
        state.hasChanged = true
        state.last = nil
        if state.task == nil { state.task = Task { [weak self] in await self?.watch() } }
        return viewer
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { state in
          state.viewers[viewer] = nil
          guard state.viewers.isEmpty else { return }
          state.task?.cancel()
          state.task = nil
        }
      }
    }
  }

  /// What the page shows now.
  func current() async throws -> PageState {
    try await PageState(
      of: desk,
      counts: state.withLock { $0.counts },
      explanation: explanation.text
    )
  }

  private func watch() async {
    let clock = ContinuousClock()
    var lastLook = clock.now
    while !Task.isCancelled {
      let isDue = state.withLock { state in
        defer { state.hasChanged = false }
        return state.hasChanged
      }
      var pause = Self.interval
      // Times in explanations go on although nothing happens.
      if isDue || clock.now - lastLook > .seconds(1) {
        lastLook = clock.now
        defer { pause = max(pause, (clock.now - lastLook) * 10) }
        // A store that doesn't answer is seen at /ready; the page keeps what it has.
        if let page = try? await current(), let text = try? JSONEncoder.answers.text(page) {
          send(text)
        }
      }
      try? await clock.sleep(for: pause)
    }
  }

  private func send(_ text: String) {
    let now = ContinuousClock.now
    let viewers = state.withLock { state -> [AsyncStream<String>.Continuation] in
      let isDue = state.lastTime.map { now - $0 >= heartbeat } ?? true
      guard state.last != text || isDue else { return [] }
      (state.last, state.lastTime) = (text, now)
      return Array(state.viewers.values)
    }
    for viewer in viewers { viewer.yield(text) }
  }

  func operationDidEnqueue(_ operation: AdvancedOperation) { changed() }

  func operationDidStart(_ operation: AdvancedOperation) { changed() }

  func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) {
    changed()
  }

  func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    let isOrder = StepName(operation).isOrder
    if isOrder, let id = StepName.order(of: operation),
      desk.isInterrupted(OrderID(rawValue: id))
    {
      return changed()
    }
    state.withLock { state in
      state.hasChanged = true
      guard isOrder else { return }
      switch outcome {
      case .succeeded: state.counts.confirmed += 1
      case .failed: state.counts.failed += 1
      case .cancelled: state.counts.cancelled += 1
      case .skipped: break
      }
    }
  }

  private func changed() { state.withLock { $0.hasChanged = true } }
}
