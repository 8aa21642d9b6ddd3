import CoreOperations

/// One evaluation of a condition that is made of others: which part is to be asked next, and what
/// the answers come to.
///
/// A plain value with a stack of its own, so that conditions can be as deep in each other as a
/// program likes. Names and errors are made for what is reported at the end, and not at every
/// level.
struct CompoundRun {
  /// What leaves have answered, by their numbers.
  typealias Answers = [Int: OperationConditionResult]

  private enum Answer {
    case satisfied
    /// The parts that were evaluated again don't decide, and others have no answer.
    case unknown(any OperationCondition)
    case skipped(reason: String)
    case failed(Failure)
  }

  private struct Failure {
    enum Cause {
      case error(any Error)
      /// This condition holds, and must not.
      case held(any OperationCondition)
    }

    var cause: Cause
    /// The part that decided.
    var part: (any OperationCondition)?

    var error: any Error {
      let error: any Error
      switch cause {
      case .error(let given): error = given
      case .held(let condition): error = NegatedCondition.Held(condition: condition.name)
      }
      guard let part, !(error is OperationConditionError) else { return error }
      return OperationConditionError(condition: part.name, underlying: error)
    }

    func named(by condition: any OperationCondition) -> Failure {
      part == nil ? Failure(cause: cause, part: condition) : self
    }
  }

  private struct Frame {
    let parts: ConditionParts
    var next = 0
    /// Why none of them held so far.
    var failures: [OperationConditionError] = []
    var skipReason: String?
    /// A part that has no answer.
    var unknown: (any OperationCondition)?
    /// The number of leaves in front of those of this frame.
    var leavesInFront = 0
  }

  private var frames: [Frame] = []
  private var last: Answer?
  private let keepsAnswers: Bool
  /// What the leaves have answered, if some of them are immediate and others aren't.
  private(set) var answers: Answers = [:]

  init(_ parts: ConditionParts) {
    keepsAnswers = parts.isMixed
    frames.append(Frame(parts: parts))
  }

  /// What all came to; known when nothing is left to be asked.
  var result: OperationConditionResult {
    switch last {
    case .satisfied: .satisfied
    case .unknown(let condition): .failed(NotEvaluated(condition: condition.name))
    case .skipped(let reason): .skipped(reason: reason)
    case .failed(let failure): .failed(failure.error)
    case nil: trap("a condition has no result before its parts were asked")
    }
  }

  /// What is to be asked next; nil when the result is known.
  mutating func next() -> (any OperationCondition)? {
    while let frame = frames.last {
      let parts = frame.parts
      guard frame.next < parts.conditions.count else {
        close(Self.outcome(of: frame))
        continue
      }
      guard let inner = (parts.conditions[frame.next] as? any CompoundCondition)?.parts else {
        return parts.conditions[frame.next]
      }
      frames.append(Frame(parts: inner, leavesInFront: leaf))
    }
    return nil
  }

  /// The number of the leaf that ``next()`` has returned, in the order of all leaves.
  var leaf: Int {
    guard let frame = frames.last else { return 0 }
    return frame.leavesInFront + frame.parts.leavesInFront[frame.next]
  }

  /// Whether all is satisfied only if the leaf that ``next()`` has returned isn't.
  var isNegated: Bool { frames.count(where: { $0.parts.kind == .not }) % 2 == 1 }

  /// What was asked last has answered.
  mutating func answered(_ result: OperationConditionResult) {
    if keepsAnswers { answers[leaf] = result }
    switch result {
    case .satisfied: take(.satisfied)
    case .skipped(let reason): take(.skipped(reason: reason))
    case .failed(let error): take(.failed(Failure(cause: .error(error))))
    }
  }

  /// The part that ``next()`` returned has no answer.
  mutating func hasNoAnswer(_ condition: any OperationCondition) { take(.unknown(condition)) }

  /// The innermost condition that is open has an answer, which is one for what it is in.
  private mutating func close(_ answer: Answer) {
    frames.removeLast()
    if frames.isEmpty { last = answer } else { take(answer) }
  }

  private mutating func take(_ answer: Answer) {
    var answer = answer
    while let frame = frames.last {
      let condition = frame.parts.conditions[frame.next]
      guard let decided = decide(frame.parts.kind, condition, answer) else {
        frames[frames.count - 1].next += 1
        return
      }
      answer = decided
      frames.removeLast()
    }
    last = answer
  }

  /// What the answer of a part makes of the innermost open condition; nil if others have to be
  /// asked.
  private mutating func decide(
    _ kind: ConditionParts.Kind,
    _ condition: any OperationCondition,
    _ answer: Answer
  ) -> Answer? {
    switch (kind, answer) {
    case (.silent, _), (.not, .unknown): return answer
    case (.all, .unknown(let part)), (.any, .unknown(let part)):
      frames[frames.count - 1].unknown = part
      return nil
    case (.not, .satisfied): return .failed(Failure(cause: .held(condition)))
    case (.not, .failed): return .satisfied
    case (.not, .skipped): return answer
    case (.all, .satisfied): return nil
    case (.all, .skipped): return answer
    case (.all, .failed(let failure)): return .failed(failure.named(by: condition))
    case (.any, .satisfied): return .satisfied
    case (.any, .skipped(let reason)):
      let frame = frames.count - 1
      frames[frame].skipReason = frames[frame].skipReason ?? reason
      return nil
    case (.any, .failed(let failure)):
      let error = failure.named(by: condition).error
      frames[frames.count - 1].failures.append(
        error as? OperationConditionError
          ?? OperationConditionError(condition: "condition", underlying: error)
      )
      return nil
    }
  }

  /// What a condition comes to whose parts have all been asked.
  private static func outcome(of frame: Frame) -> Answer {
    if let part = frame.unknown { return .unknown(part) }
    switch frame.parts.kind {
    case .all, .silent, .not: return .satisfied
    case .any:
      if let reason = frame.skipReason, frame.failures.isEmpty { return .skipped(reason: reason) }
      return .failed(Failure(cause: .error(AnyOf.NoneHolds(failures: frame.failures))))
    }
  }
}

/// A part of a condition was not evaluated before the start, because another part had decided.
///
/// After a wait, that other part decided otherwise.
struct NotEvaluated: Error, CustomStringConvertible {
  let condition: String

  var description: String {
    "“\(condition)” wasn't evaluated before the start, and what held then holds no more."
  }
}
