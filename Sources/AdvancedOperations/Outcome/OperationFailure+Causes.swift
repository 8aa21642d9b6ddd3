extension OperationFailure {
  /// The first error of a type, wherever it happened.
  ///
  /// Depth first, in the order of the elements: through failed dependencies, children, attempts,
  /// the parts of conditions, operations that were awaited, and the child of a group because of
  /// which the others were cancelled. An error is looked at before what it is made of.
  ///
  /// ```swift
  /// if let refusal = failure.first(PaymentRefused.self) { show(refusal.code) }
  /// ```
  ///
  /// - Parameter type: The type of the error; may be a protocol.
  /// - Returns: The error; nil if there is none.
  /// - Complexity: O(n), n the number of errors in all failures that are in this one.
  public func first<E>(_ type: E.Type) -> E? {
    var seen: Set<ObjectIdentifier> = []
    var due: [any Error] = errors.reversed()
    while let error = due.popLast() {
      if let error = error as? E { return error }
      switch error {
      case let condition as OperationConditionError: due.append(condition.underlying)
      case let none as any ConditionFailures: due += none.failures.reversed() as [any Error]
      default:
        guard let failure = error.causingFailure, failure.isNew(among: &seen) else { continue }
        due += failure.errors.reversed()
      }
    }
    return nil
  }

  /// What everything comes down to: the errors that are no other operation's failure, each once.
  ///
  /// Each element has its whole path as its ``Element/origin``, from this operation through
  /// dependencies, children, attempts, conditions and operations that were awaited, to where the
  /// error happened.
  ///
  /// ```swift
  /// // However far away in the workflow it happened:
  /// for cause in failure.rootCauses { print("\(cause.origin): \(cause.error)") }
  /// // dependency “parse”, dependency “download”, attempt 3, body: The connection was lost.
  /// ```
  ///
  /// The error of a condition is the one that the condition gave.
  ///
  /// A dependency that was cancelled without a reason has no error: its element has the
  /// dependency's failure, which is empty.
  ///
  /// - Complexity: O(n + c · d), n the number of errors in all failures that are in this one, c the
  ///   number of causes and d the length of their paths.
  public var rootCauses: [Element] {
    var causes: [Element] = []
    var search = CauseSearch(self)
    while var cause = search.next() {
      // Its origin names the condition.
      if let error = cause.error as? OperationConditionError { cause.error = error.underlying }
      causes.append(cause)
    }
    return causes
  }
}

extension OperationFailure {
  /// The errors that the failure comes down to: its ``rootCauses``, of several attempts those of
  /// the last one.
  var decidingCauses: [any Error] {
    var causes: [any Error] = []
    var search = CauseSearch(self, decidingOnly: true)
    while let cause = search.next() {
      causes.append((cause.error as? OperationConditionError)?.underlying ?? cause.error)
    }
    return causes
  }
}

extension Error {
  /// The errors that this one comes down to, if it is the failure of operations; otherwise itself.
  var decidingCauses: [any Error] {
    OperationFailure(elements: [.init(origin: .body, error: self)]).decidingCauses
  }

  /// The failure of other operations that the error is, or that it keeps; nil without any.
  var innerFailure: OperationFailure? {
    if let failure = self as? OperationFailure { return failure }
    guard let failure = (self as? any InheritedFailure)?.failure, !failure.elements.isEmpty else {
      return nil
    }
    return failure
  }

  /// The failure of other operations because of which there is this error; nil without any.
  fileprivate var causingFailure: OperationFailure? {
    (self as? OperationFailure) ?? (self as? any ConsequentialError)?.failure
  }
}

/// Goes through a failure and all failures in it, depth first, without recursion.
struct CauseSearch {
  private struct Frame {
    let elements: [OperationFailure.Element]
    var next = 0
    /// The last step of the path that led here.
    let place: Int?
  }

  private var frames: [Frame]
  /// The steps of all paths, each with the one before.
  private var steps: [(step: OperationFailure.Origin.Step, before: Int?)] = []
  private var seen: Set<ObjectIdentifier> = []
  private let decidingOnly: Bool

  /// - Parameters:
  ///   - failure: Where to begin.
  ///   - decidingOnly: Whether failed attempts that were followed by others are left out.
  init(_ failure: OperationFailure, decidingOnly: Bool = false) {
    self.decidingOnly = decidingOnly
    let elements = decidingOnly ? failure.elements.withoutRepeatedAttempts : failure.elements
    frames = [Frame(elements: elements, place: nil)]
  }

  /// The next error that is not made of others, with its whole path.
  ///
  /// - Parameter isEnd: Says of the failure of another operation whether to return it as a whole.
  /// - Returns: The error; nil when there are no more.
  mutating func next(
    orFailure isEnd: (OperationFailure.Element, OperationFailure) -> Bool = { _, _ in false }
  ) -> OperationFailure.Element? {
    while let frame = frames.last {
      guard frame.next < frame.elements.count else {
        frames.removeLast()
        continue
      }
      frames[frames.count - 1].next += 1
      let element = frame.elements[frame.next]
      let error = (element.error as? OperationConditionError)?.underlying ?? element.error
      let failure = error.causingFailure
      let origin = element.origin.leading(
        to: failure,
        step: (error as? any ConsequentialError)?.step
      )
      if let failure, !failure.elements.isEmpty, !isEnd(element, failure) {
        if failure.isNew(among: &seen) {
          enter(failure.elements, through: origin, after: frame.place)
        }
      } else if let parts = error.partsOfCondition {
        enter(parts, through: origin, after: frame.place)
      } else {
        var cause = element
        cause.origin = path(to: frame.place, origin)
        return cause
      }
    }
    return nil
  }

  private mutating func enter(
    _ elements: [OperationFailure.Element],
    through origin: OperationFailure.Origin,
    after place: Int?
  ) {
    var place = place
    for step in origin.path {
      steps.append((step, place))
      place = steps.count - 1
    }
    let elements = decidingOnly ? elements.withoutRepeatedAttempts : elements
    frames.append(Frame(elements: elements, place: place))
  }

  private func path(
    to place: Int?,
    _ origin: OperationFailure.Origin
  ) -> OperationFailure.Origin {
    var origin = origin
    var next = place
    while let place = next {
      origin = origin.within(steps[place].step)
      next = steps[place].before
    }
    return origin
  }
}

extension OperationFailure.Origin {
  /// This, going on into the operation that a failure is that of.
  ///
  /// - Parameters:
  ///   - failure: The failure; nil if the error is no other operation's.
  ///   - step: The operation, if the error says which one it is; otherwise it is the awaited one.
  /// - Returns: The longer way; this one if there is nothing to add.
  fileprivate func leading(to failure: OperationFailure?, step: Step?) -> Self {
    guard let step = step ?? ownerStep(of: failure) else { return self }
    var origin = Self.body
    origin.path = path + [step]
    return origin
  }

  private func ownerStep(of failure: OperationFailure?) -> Step? {
    switch cause {
    case .cancel, .timeout, .skipped: nil
    case .body, .condition, .dependency: failure?.ownerStep(after: path.last.map { .step($0) })
    }
  }
}

extension Error {
  /// The errors of the conditions that a condition is made of; nil for others.
  fileprivate var partsOfCondition: [OperationFailure.Element]? {
    switch self {
    case let part as OperationConditionError:
      [.init(origin: .condition(part.condition), error: part)]
    case let none as any ConditionFailures where !none.failures.isEmpty:
      none.failures.map { .init(origin: .condition($0.condition), error: $0) }
    default: nil
    }
  }
}

extension [OperationFailure.Element] {
  /// The elements without those of attempts that were followed by another one.
  fileprivate var withoutRepeatedAttempts: Self {
    typealias Step = OperationFailure.Origin.Step
    var last: [ArraySlice<Step>: Int] = [:]
    let paths = map(\.origin.path)
    func forEachAttempt(of path: [Step], _ body: (ArraySlice<Step>, Int) -> Void) {
      for (index, step) in path.enumerated() {
        if case .attempt(let number) = step { body(path[..<index], number) }
      }
    }
    for path in paths {
      forEachAttempt(of: path) { last[$0] = Swift.max(last[$0] ?? $1, $1) }
    }
    if last.isEmpty { return self }
    return zip(self, paths).compactMap { element, path in
      var isLast = true
      forEachAttempt(of: path) { if last[$0] != $1 { isLast = false } }
      return isLast ? element : nil
    }
  }
}
