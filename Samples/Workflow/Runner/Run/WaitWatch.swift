import AdvancedOperations
import Synchronization

/// Says what steps wait for that could run but for a claim: a resource, a rate, their turn.
///
/// A step that starts at once needs no such line, and of thousands that wait for the same only the
/// first few get one: those that are next.
final class WaitWatch: Sendable {
  /// So many steps are looked at.
  private static let limit = 16
  /// A wait that is shorter isn't mentioned.
  private static let firstPause = Duration.milliseconds(200)
  private static let longestPause = Duration.seconds(5)

  private struct State {
    var waiting: [ObjectIdentifier: Int] = [:]
    /// In the order of coming, with places of those that have gone.
    var order: [AdvancedOperation?] = []
    var first = 0
    /// What was said last of each.
    var said: [ObjectIdentifier: String] = [:]
    var pause = WaitWatch.firstPause
    var timer: OperationTimer?
    var hasEnded = false
    var report: (@Sendable (AdvancedOperation, OperationExplanation.Cause) -> Void)?
  }

  private let state = Mutex(State())
  private let clock: OperationClock

  init(clock: OperationClock) { self.clock = clock }

  /// Has waits reported from now on.
  func begin(_ report: @escaping @Sendable (AdvancedOperation, OperationExplanation.Cause) -> Void)
  {
    state.withLock { $0.report = report }
  }

  /// Nothing waits any more.
  func end() {
    let timer = state.withLock { state in
      defer { state = State(hasEnded: true) }
      return state.timer
    }
    timer?.cancel()
  }

  /// The needs of a step are done, and its conditions hold.
  func isReady(_ operation: AdvancedOperation) {
    let isFirst = state.withLock { state in
      let id = ObjectIdentifier(operation)
      guard !state.hasEnded, state.waiting[id] == nil else { return false }
      state.waiting[id] = state.order.count
      state.order.append(operation)
      return state.waiting.count == 1
    }
    if isFirst { schedule(after: Self.firstPause) }
  }

  /// A step begins, or has ended.
  func leaves(_ operation: AdvancedOperation) {
    state.withLock { state in
      let id = ObjectIdentifier(operation)
      guard let place = state.waiting.removeValue(forKey: id) else { return }
      state.order[place] = nil
      state.said[id] = nil
    }
  }

  private func schedule(after pause: Duration) {
    let timer = clock.schedule(at: clock.now + pause) { [weak self] in self?.look() }
    let old = state.withLock { state in
      if state.hasEnded { return timer as OperationTimer? }
      defer { state.timer = timer }
      return state.timer
    }
    old?.cancel()
  }

  private func look() {
    let (operations, report) = state.withLock { state in
      while state.first < state.order.count, state.order[state.first] == nil { state.first += 1 }
      return (
        Array(state.order[state.first...].lazy.compactMap { $0 }.prefix(Self.limit)), state.report
      )
    }
    if operations.isEmpty { return }
    var isNew = false
    for operation in operations {
      guard let cause = operation.explain().causes.first(where: { $0.isWait }) else { continue }
      let key = "\(cause.kind) \(cause.requirement ?? "")"
      let isFirst = state.withLock { state in
        let id = ObjectIdentifier(operation)
        guard state.waiting[id] != nil, state.said[id] != key else { return false }
        state.said[id] = key
        return true
      }
      guard isFirst else { continue }
      isNew = true
      report?(operation, cause)
    }
    let pause = state.withLock { state in
      state.pause = isNew ? Self.firstPause : min(state.pause * 2, Self.longestPause)
      return state.pause
    }
    schedule(after: pause)
  }
}

extension OperationExplanation.Cause {
  /// Whether it is something that the step has to wait for.
  fileprivate var isWait: Bool {
    switch kind {
    case .claim, .limit: true
    default: false
    }
  }
}

/// Holds always, and says when it is looked at: when all before it holds.
struct BecomesReady: ImmediateCondition {
  let isReady: @Sendable (AdvancedOperation) -> Void

  var name: String { "ready" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    isReady(operation)
    return .satisfied
  }
}
