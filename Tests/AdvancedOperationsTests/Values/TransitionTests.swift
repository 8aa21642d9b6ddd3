import AdvancedOperations
import AdvancedTestSupport
import Testing

/// A state machine, and the events that its callers can still send: its queue, its conditions, its
/// body and its children, as far as they keep their promises.
private struct Walk {
  /// An event, and the walk after it; no event where only a caller moves on.
  typealias Move = (event: String?, next: Walk)

  let hasConditions: Bool
  let hasClaims: Bool
  let policy: AdvancedOperation.CancellationPolicy
  let isGroup: Bool
  var machine = OperationStateMachine()
  /// By hand there may be two: one from the start, and one from a cancel.
  var turns = 0
  var (areDependenciesDue, isVerdictDue, isReviewDue, isLaunchDue) = (false, false, false, false)
  var isStartTold = false
  /// Conditions are asked before all dependencies have finished.
  var isEarlyAnswerDue = false
  var (isOnStack, isTaskOn, mayHaveTask, isReporting) = (false, false, true, false)
  var (isWillFinishDue, isDidFinishDue) = (false, false)
  var (isNewGroup, areChildrenDue, areChildrenLeaving) = (false, false, false)

  init(
    hasConditions: Bool,
    hasClaims: Bool,
    policy: AdvancedOperation.CancellationPolicy,
    isGroup: Bool = false
  ) {
    self.hasConditions = hasConditions
    self.hasClaims = hasClaims
    self.policy = policy
    self.isGroup = isGroup
    (isNewGroup, areChildrenDue) = (isGroup, isGroup)
  }

  private mutating func endWasDecided() {
    if machine.holdsChildren { areChildrenLeaving = true } else { isWillFinishDue = true }
  }

  /// Marked and cancelled ones are started whatever else is on its way.
  private var isTurnDue: Bool { turns > 0 && (!isReviewDue || machine.isCancelled) }

  var moves: [Move] {
    let isNew = !machine.isSubmitted
    if isNewGroup {
      return move("childrenExpected") {
        $0.isNewGroup = false
        $0.machine.childrenExpected()
        return true
      }
    }
    return before(isNew) + asked + run + ended + children
  }

  private func before(_ isNew: Bool) -> [Move] {
    move("conditionAdded") { $0.machine.conditionAdded() == .record }
      + move("journalAttached") { $0.machine.journalAttached(isFirst: true) == .record }
      + move("enqueued", if: isNew) {
        $0.machine.enqueued()
        $0.areDependenciesDue = hasConditions && !$0.machine.isCancelled
        $0.isEarlyAnswerDue = $0.areDependenciesDue
        if !$0.areDependenciesDue { $0.turns = 1 }
        return true
      }
      + move("startedManually", if: isNew) {
        let action = $0.machine.startedManually(
          hasConditions: hasConditions,
          hasClaims: hasClaims,
          dependenciesAreFinished: true
        )
        $0.areDependenciesDue = action == .enqueue && hasConditions
        if !$0.areDependenciesDue { $0.turns = 1 }
        return true
      }
      + move("cancelCalled") {
        switch $0.machine.cancelCalled(reason: nil, policy: policy) {
        case .leaveQueue: $0.turns = 1
        case .decided: $0.endWasDecided()
        case .ignore, .recorded, .flag, .stopBody: break
        }
        return true
      }
  }

  private var asked: [Move] {
    let verdicts: [OperationStateMachine.Verdict] = [.satisfied, .skipped(reason: "")]
    let mayReview = hasClaims && turns > 0 && machine.state <= .ready && !machine.isMarked
    return move("dependenciesFinished", if: areDependenciesDue) {
      $0.areDependenciesDue = false
      $0.isVerdictDue = $0.machine.dependenciesFinished() == .evaluate
      return true
    }
      + move("decidedEarly", if: isEarlyAnswerDue) {
        $0.isEarlyAnswerDue = false
        if case .becomeReady = $0.machine.decidedEarly(.skipped(reason: "")) { $0.turns = 1 }
        return true
      }
      + verdicts.flatMap { verdict in
        move("verdictsArrived", if: isVerdictDue) {
          $0.isVerdictDue = false
          if case .becomeReady = $0.machine.verdictsArrived(verdict) { $0.turns = 1 }
          return true
        }
          + move("reviewed", if: isReviewDue) {
            $0.isReviewDue = false
            _ = $0.machine.reviewed(verdict)
            return true
          }
      }
      + move(nil, if: mayReview && !machine.isCancelled) {
        $0.isReviewDue = true
        return true
      }
  }

  private var run: [Move] {
    move("turnCame", if: isTurnDue) {
      $0.turns -= 1
      switch $0.machine.turnCame() {
      case .begin: $0.isLaunchDue = true
      case .decided: $0.endWasDecided()
      case .reject: return false
      }
      return true
    }
      + move("launchDue", if: isLaunchDue) {
        $0.isLaunchDue = false
        switch $0.machine.launchDue() {
        case .execute: $0.isStartTold = true
        case .decided: $0.endWasDecided()
        case .none: break
        }
        return true
      }
      + move(nil, if: isStartTold) {
        $0.isStartTold = false
        if machine.isBodyDue { $0.isOnStack = true } else { _ = $0.machine.bodyEnded() }
        return true
      }
      + move("bodyBegan", if: isOnStack && mayHaveTask) {
        ($0.isTaskOn, $0.mayHaveTask) = (true, false)
        $0.machine.bodyBegan()
        return true
      }
      + [\Walk.isOnStack, \.isTaskOn, \.isReporting].flatMap { body in
        move("bodyEnded", if: self[keyPath: body]) {
          $0[keyPath: body] = false
          _ = $0.machine.bodyEnded()
          return true
        }
      }
  }

  private var children: [Move] {
    move("childrenDue", if: isOnStack && areChildrenDue) {
      $0.areChildrenDue = false
      _ = $0.machine.childrenDue()
      return true
    }
      + move("childrenLeft", if: areChildrenLeaving) {
        ($0.areChildrenLeaving, $0.isWillFinishDue) = (false, true)
        $0.machine.childrenLeft([])
        return true
      }
  }

  private var ended: [Move] {
    move("decide") {
      switch $0.machine.decide([]) {
      case .decided: $0.endWasDecided()
      case .ignore: break
      case .reject: return false
      }
      return true
    }
      + move("willFinishNotified", if: isWillFinishDue && !isLaunchDue) {
        ($0.isWillFinishDue, $0.isDidFinishDue) = (false, true)
        $0.machine.willFinishNotified()
        return true
      }
      + move("didFinishNotified", if: isDidFinishDue) {
        ($0.isDidFinishDue, $0.isReporting) = (false, true)
        $0.machine.didFinishNotified()
        return true
      }
  }
}

extension Walk {
  /// The walk after an event, unless the event can't arrive.
  private func move(
    _ event: String?,
    if isPossible: Bool = true,
    _ body: (inout Walk) -> Bool
  ) -> [Move] {
    var next = self
    return isPossible && body(&next) ? [(event, next)] : []
  }

  /// The edges of each event over all states that can be reached, found breadth first.
  static func edges(from roots: [Walk]) -> [String: Set<String>] {
    var edges: [String: Set<String>] = [:]
    var seen = Set(roots.map { "\($0)" })
    var open = roots
    while !open.isEmpty {
      var next: [Walk] = []
      for walk in open {
        for move in walk.moves {
          let (old, new) = (walk.machine.state, move.next.machine.state)
          if let event = move.event {
            edges[event, default: []].insert(old == new ? "\(old)" : "\(old) → \(new)")
          }
          if seen.insert("\(move.next)").inserted { next.append(move.next) }
        }
      }
      open = next
    }
    return edges
  }
}

@Suite struct `The transitions of an advanced operation` {
  /// The edges that each event may take; a state alone if the event keeps it.
  private static let legal: [String: Set<String>] = [
    "bodyBegan": ["executing", "finishing", "finished"],
    "bodyEnded": ["executing", "finishing", "finished"],
    "cancelCalled": [
      "pending", "pending → ready", "evaluatingConditions → ready", "ready", "executing",
      "executing → finishing", "finishing", "finished",
    ],
    "childrenDue": ["executing", "finishing", "finished"],
    "childrenExpected": ["pending"],
    "childrenLeft": ["finishing"],
    "conditionAdded": ["pending", "ready", "executing", "finishing", "finished"],
    "decidedEarly": [
      "pending → ready", "evaluatingConditions", "ready", "executing", "finishing", "finished",
    ],
    "dependenciesFinished": [
      "pending → evaluatingConditions", "evaluatingConditions", "ready", "finishing", "finished",
    ],
    "didFinishNotified": ["finishing → finished"],
    "enqueued": ["pending"],
    "decide": ["pending", "ready", "executing → finishing", "finishing", "finished"],
    "journalAttached": ["pending"],
    "launchDue": ["executing", "executing → finishing", "finishing"],
    "reviewed": ["pending", "ready", "finishing", "finished"],
    "startedManually": ["pending → evaluatingConditions", "pending → ready"],
    "turnCame": [
      "pending → executing", "pending → finishing", "ready → executing", "ready → finishing",
    ],
    "verdictsArrived": ["evaluatingConditions → ready", "ready", "finishing", "finished"],
    "willFinishNotified": ["finishing"],
  ]

  @Test func `the state machine takes every legal edge and no other`() {
    let policies: [AdvancedOperation.CancellationPolicy] = [
      .finishImmediately, .whenFinishIsCalled,
    ]
    let roots = [true, false].flatMap { hasConditions in
      [true, false].flatMap { hasClaims in
        policies.map {
          Walk(hasConditions: hasConditions, hasClaims: hasClaims, policy: $0)
        }
      } + [
        Walk(
          hasConditions: hasConditions,
          hasClaims: false,
          policy: .whenFinishIsCalled,
          isGroup: true
        )
      ]
    }
    let found = Walk.edges(from: roots)
    for event in Set(found.keys).union(Self.legal.keys).sorted() {
      #expect(found[event, default: []] == Self.legal[event, default: []], "\(event)")
    }
  }
}
