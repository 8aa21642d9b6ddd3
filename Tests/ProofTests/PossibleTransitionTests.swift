#if DEBUG
import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// A state machine together with what is on its way to it, as far as its callers keep their
/// promises.
private protocol Walked {
  static var machine: String { get }
  var state: String { get }
  /// What can come next, and what it leads to; no event where only a caller moves on.
  var moves: [(event: String?, next: Self)] { get }
}

extension Walked {
  /// What a move leads to, unless it can't be made.
  fileprivate func move(
    _ event: String?,
    if isPossible: Bool = true,
    _ body: (inout Self) -> Bool
  ) -> [(event: String?, next: Self)] {
    var next = self
    return isPossible && body(&next) ? [(event, next)] : []
  }

  /// All that comes in any state which can be reached, breadth first.
  fileprivate static func transitions(from roots: [Self]) -> Set<String> {
    var found: Set<String> = []
    var seen = Set(roots.map { "\($0)" })
    var open = roots
    while !open.isEmpty {
      var next: [Self] = []
      for world in open {
        for move in world.moves {
          if let event = move.event { found.insert("\(machine): \(event) in \(world.state)") }
          if seen.insert("\(move.next)").inserted { next.append(move.next) }
        }
      }
      open = next
    }
    return found
  }
}

/// An operation of the core: its life, who may still call it, and what is overridden.
private struct Core: Walked {
  enum Kind: CaseIterable {
    case block, endsByItself, ownStart, layered
  }

  static let machine = "Operation"
  let kind: Kind
  var life = OperationLife()
  /// The queue has not started it; its `start()` was called by it; `main()` is on a stack, and
  /// there is nothing to ask afterwards; the end was found.
  var (isTurnDue, isStartDue, isInMain, isWhole, isEndDue) = (false, false, false, false, false)

  init(_ kind: Kind) { self.kind = kind }

  var state: String { "\(life.phase)" }
  private var reportsByItself: Bool { kind == .endsByItself || kind == .ownStart }

  var moves: [(event: String?, next: Core)] {
    let isOpen = life.phase != .finished
    return move("cancelCalled") {
      if $0.life.cancelCalled() == .askWhetherFinished, reportsByItself {
        _ = $0.life.cancelCalled(isFinishDenied: true)
      }
      return true
    }
      + move("enqueued") {
        switch $0.life.enqueued() {
        case .admit: $0.isTurnDue = true
        case .ignore: break
        case .reject: return false
        }
        return true
      }
      + move("startCalled", if: kind != .layered && (life.phase != .started || isStartDue)) {
        $0.isStartDue = false
        switch $0.life.startCalled(isReady: true) {
        case .callMain: $0.isInMain = true
        case .finishCancelled: $0.isEndDue = true
        case .ignore: break
        case .reject: return false
        }
        return true
      }
      + move("startedManually", if: kind == .layered && isOpen) {
        $0.isEndDue = true
        return $0.life.startedManually() == .begin
      }
      + move("turnCameToMain", if: kind == .block && isTurnDue) {
        guard $0.life.turnCameToMain() else { return true }
        ($0.isTurnDue, $0.isWhole) = (false, true)
        return true
      }
      + move("turnCame", if: isTurnDue && (kind != .block || life.isCancelled)) {
        $0.isTurnDue = false
        guard $0.life.turnCame() == .callStart else { return true }
        if kind == .layered { $0.isEndDue = true } else { $0.isStartDue = kind != .ownStart }
        return true
      }
      + move("turnCame", if: kind == .layered && life.phase == .started) {
        $0.life.turnCame() == .goOn
      }
      + move("mainReturnedForGood", if: isWhole) {
        $0.isWhole = false
        $0.life.mainReturnedForGood()
        return true
      }
      + move("mainReturned", if: isInMain) {
        $0.isInMain = false
        $0.isEndDue = $0.life.mainReturned()
        return true
      }
      + move("finishReported", if: isEndDue || reportsByItself) {
        $0.isEndDue = false
        return [.finish, .ignore].contains($0.life.finishReported())
      }
  }
}

/// An advanced operation: its machine, and what its queue, its conditions and its body have yet to
/// say.
private struct Advanced: Walked {
  static let machine = "AdvancedOperation"
  let hasConditions: Bool
  let hasClaims: Bool
  let policy: AdvancedOperation.CancellationPolicy
  let isGroup: Bool
  var machine = OperationStateMachine()
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

  var state: String { "\(machine.state)" }

  private mutating func endWasDecided() {
    if machine.holdsChildren { areChildrenLeaving = true } else { isWillFinishDue = true }
  }

  /// Marked and cancelled ones are started whatever else is on its way.
  private var isTurnDue: Bool { turns > 0 && (!isReviewDue || machine.isCancelled) }

  var moves: [(event: String?, next: Advanced)] {
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

  private func before(_ isNew: Bool) -> [(event: String?, next: Advanced)] {
    move("conditionAdded") { $0.machine.conditionAdded() == .record }
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
        case .finish: $0.endWasDecided()
        case .ignore, .recorded, .flag, .stopBody: break
        }
        return true
      }
  }

  private var asked: [(event: String?, next: Advanced)] {
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

  private var run: [(event: String?, next: Advanced)] {
    move("turnCame", if: isTurnDue) {
      $0.turns -= 1
      switch $0.machine.turnCame() {
      case .begin: $0.isLaunchDue = true
      case .finish: $0.endWasDecided()
      case .reject: return false
      }
      return true
    }
      + move("launchDue", if: isLaunchDue) {
        $0.isLaunchDue = false
        switch $0.machine.launchDue() {
        case .execute: $0.isStartTold = true
        case .finish: $0.endWasDecided()
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
      + [\Advanced.isOnStack, \.isTaskOn, \.isReporting].flatMap { body in
        move("bodyEnded", if: self[keyPath: body]) {
          $0[keyPath: body] = false
          _ = $0.machine.bodyEnded()
          return true
        }
      }
  }

  private var children: [(event: String?, next: Advanced)] {
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

  private var ended: [(event: String?, next: Advanced)] {
    move("finishCalled") {
      switch $0.machine.finishCalled([]) {
      case .finish: $0.endWasDecided()
      case .ignore: break
      case .reject: return false
      }
      return true
    }
      + move("willFinishDelivered", if: isWillFinishDue && !isLaunchDue) {
        ($0.isWillFinishDue, $0.isDidFinishDue) = (false, true)
        $0.machine.willFinishDelivered()
        return true
      }
      + move("didFinishDelivered", if: isDidFinishDue) {
        ($0.isDidFinishDue, $0.isReporting) = (false, true)
        $0.machine.didFinishDelivered()
        return true
      }
  }
}

@Suite(.heavy) struct `The list of what can happen` {
  /// What comes only when one thread is about to call while others take the operation on: a test
  /// that takes one step after the other doesn't see it.
  private static let onlyInParallel = [
    "bodyBegan in finishing", "bodyBegan in finished",
    "childrenDue in finishing", "childrenDue in finished",
    "decidedEarly in evaluatingConditions", "decidedEarly in ready", "decidedEarly in executing",
    "decidedEarly in finishing", "decidedEarly in finished", "dependenciesFinished in finishing",
    "reviewed in finishing", "reviewed in finished", "turnCame in finishing",
    "verdictsArrived in finishing",
  ]

  @Test func `is what a walk through the state machines finds`() {
    let core = Core.transitions(from: Core.Kind.allCases.map(Core.init))
    let advanced = Advanced.transitions(
      from: [true, false].flatMap { hasConditions in
        [true, false].flatMap { hasClaims in
          [.finishImmediately, .whenFinishIsCalled].map { policy in
            Advanced(hasConditions: hasConditions, hasClaims: hasClaims, policy: policy)
          }
        } + [
          Advanced(
            hasConditions: hasConditions,
            hasClaims: false,
            policy: .whenFinishIsCalled,
            isGroup: true
          )
        ]
      }
    )
    let listed = Set(TransitionRecorder.possible.map(\.description))
    let parallel = Set(Self.onlyInParallel.map { "\(Advanced.machine): \($0)" })
    let found = core.union(advanced)
    #expect(found.subtracting(listed).subtracting(parallel).sorted() == [])
    #expect(listed.union(parallel).subtracting(found).sorted() == [])
    #expect(listed.intersection(parallel).sorted() == [])
  }
}
#endif
