extension OperationFailure {
  /// Returns the first error of a type, at any depth of the failure.
  ///
  /// The search is depth-first, in the order of the elements. The search includes failed dependencies,
  /// children, attempts, the parts of conditions and awaited operations. The child of a group whose failure
  /// cancelled the other children is also included. An error comes before the errors that it contains.
  ///
  /// ```swift
  /// if let refusal = failure.first(PaymentRefused.self) { show(refusal.code) }
  /// ```
  ///
  /// - Parameter type: The type of the error, which may be a protocol.
  /// - Returns: The error; nil if no error of the type exists.
  /// - Complexity: O(n), where n is the number of errors in this failure and all failures inside it.
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

  /// The root causes of the failure, each once.
  ///
  /// A root cause is an error that isn't the failure of another operation. The ``Element/origin`` of a root
  /// cause contains the whole path from this operation to the error, through dependencies, children,
  /// attempts, conditions and awaited operations.
  ///
  /// ```swift
  /// // However far away in the workflow it happened:
  /// for cause in failure.rootCauses { print("\(cause.origin): \(cause.error)") }
  /// // dependency “parse”, dependency “download”, attempt 3, body: The connection was lost.
  /// ```
  ///
  /// For a condition, the root cause is the error that the condition gave.
  ///
  /// A dependency that was cancelled without a reason has no error. The error of its element is the
  /// dependency's failure, which is empty.
  ///
  /// - Complexity: O(n + c · d). The number of errors in this failure and all failures inside it is n. The
  ///   number of causes is c, and the length of their paths is d.
  public var rootCauses: [Element] {
    var causes: [Element] = []
    var search = CauseSearch(self)
    while var cause = search.next() {
      // The origin names the condition already.
      if let error = cause.error as? OperationConditionError { cause.error = error.underlying }
      causes.append(cause)
    }
    return causes
  }
}

extension OperationFailure {
  /// The ``rootCauses`` of the failure that count; of several attempts, those of the last one.
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
  /// The root causes of the error that count, if it is a failure of operations; otherwise the error itself.
  var decidingCauses: [any Error] {
    OperationFailure(elements: [.init(origin: .body, error: self)]).decidingCauses
  }

  /// The error if it is a failure of other operations, or the failure that it contains; nil if there is none.
  var innerFailure: OperationFailure? {
    if let failure = self as? OperationFailure { return failure }
    guard let failure = (self as? any InheritedFailure)?.failure, !failure.elements.isEmpty else {
      return nil
    }
    return failure
  }

  /// The failure of other operations that caused this error; nil if there is none.
  fileprivate var causingFailure: OperationFailure? {
    (self as? OperationFailure) ?? (self as? any ConsequentialError)?.failure
  }
}

/// A depth-first search through a failure and all failures inside it, without recursion.
struct CauseSearch {
  private struct Frame {
    let elements: [OperationFailure.Element]
    var next = 0
    /// The index of the last step of the path to the frame.
    let place: Int?
  }

  private var frames: [Frame]
  /// The steps of all paths, each with the index of the previous step.
  private var steps: [(step: OperationFailure.Origin.Step, before: Int?)] = []
  private var seen: Set<ObjectIdentifier> = []
  private let decidingOnly: Bool

  /// - Parameters:
  ///   - failure: The failure in which the search begins.
  ///   - decidingOnly: True to leave out failed attempts that were followed by other attempts.
  init(_ failure: OperationFailure, decidingOnly: Bool = false) {
    self.decidingOnly = decidingOnly
    let elements = decidingOnly ? failure.elements.withoutRepeatedAttempts : failure.elements
    frames = [Frame(elements: elements, place: nil)]
  }

  /// Returns the next error that doesn't contain other errors, with its whole path.
  ///
  /// - Parameter isEnd: A closure that returns true if the search returns the failure of another operation as
  ///   a whole.
  /// - Returns: The error; nil after the last error.
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
  /// Returns the origin with one more step, into the operation that has a failure.
  ///
  /// - Parameters:
  ///   - failure: The failure; nil if the error isn't that of another operation.
  ///   - step: The step to the operation if the error contains it; nil for the awaited operation.
  /// - Returns: The longer origin; the same origin if there is no step to add.
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
  /// The errors of the parts of a compound condition; nil for other errors.
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
  /// The elements without those of attempts that were followed by another attempt.
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
