import CoreOperations

/// All that changes in an advanced operation; guarded by its one lock.
struct AdvancedCore {
  var machine = OperationStateMachine()
  var line = EventLine()
  var observers: [ObserverEntry] = []
  var conditions: [any OperationCondition] = []
  var claims: [any OperationClaim] = []
  var conditionPolicy = AdvancedOperation.ConditionPolicy.evaluateAll
  /// Whether the core keeps slot and membership on our behalf.
  var holdsQuiet = false
  /// Whether the operation is another one's helper, which adds it to a queue.
  var isClaimedAsHelper = false
  var lastObserver: UInt32 = 0
  var environment: OperationEnvironment?
  /// Made on first use.
  var extra: AdvancedExtra?

  init() {}

  var errors: [any Error] { machine.elements.map(\.error) }

  mutating func makeExtra() -> AdvancedExtra {
    if let extra { return extra }
    let made = AdvancedExtra()
    extra = made
    return made
  }

  /// Puts what follows a decided end into the line.
  mutating func appendEnd() {
    guard let outcome = machine.outcome else { trap("an end without an outcome") }
    line.append(.willFinish(errors, outcome))
  }
}

struct ObserverEntry {
  let id: UInt32
  let observer: any OperationObserver
}

/// What few operations have; only touched under the lock of the ``AdvancedCore`` that it is in.
final class AdvancedExtra {
  /// Asks the conditions.
  var evaluation: Task<Void, Never>?
  /// Helpers that were added to a queue on the operation's behalf.
  var helpers: [AdvancedOperation] = []
  var timeouts: [(id: UInt32, timeout: TimeoutObserver)] = []
  var timers: [(id: UInt32, phase: TimeoutObserver.Phase, timer: OperationTimer)] = []
  /// Run when the operation is finished, or quiet.
  var afterFinished: [@Sendable () -> Void] = []
  var afterQuiet: [@Sendable () -> Void] = []
  /// The group that the operation is a child of.
  weak var group: GroupOperation?
}
