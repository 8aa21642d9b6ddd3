import CoreOperations

extension OperationFailure.Element {
  /// What is known of an error beside its origin, and is no error itself.
  enum Remark: Sendable {
    /// The error is that of a rollback, which undid the work of a group.
    case rollback
    /// No attempt followed, because the time for all of them was over.
    ///
    /// The depth is the number of steps of the origin from this attempt on, its own included: steps
    /// that are put around the origin later don't change it.
    case gaveUp(attempts: Int, limit: Duration, depth: Int)
    /// So many attempts or operations before this one failed as well, and their errors aren't kept.
    ///
    /// The depth is the number of steps of the origin from that attempt or operation on.
    case leftOut(Int, LeftOut, depth: Int)
    /// The error is that of a condition whose helper, which was to make it hold, didn't succeed.
    case helper(String, OperationFailure)
  }

  /// Of what there were too many to keep the errors of all.
  enum LeftOut: Sendable {
    case attempts, operations

    fileprivate func text(_ count: Int) -> String {
      let noun =
        switch self {
        case .attempts: "attempt"
        case .operations: "failed operation"
        }
      return "… \(count) more \(count == 1 ? noun : noun + "s") …"
    }
  }

  /// An error that a rollback threw.
  static func rollback(_ error: any Error) -> Self {
    var element = Self(origin: .body, error: error)
    element.remarks = [.rollback]
    return element
  }

  /// Notes with the last error of a retry that the time for all attempts is over.
  mutating func noteGivingUp(after attempts: Int, limit: Duration) {
    let depth = origin.steps.steps.count
    remarks.append(.gaveUp(attempts: attempts, limit: limit, depth: depth))
  }

  /// Notes with an error that others before it aren't kept.
  mutating func noteLeftOut(_ count: Int, _ kind: LeftOut) {
    remarks.append(.leftOut(count, kind, depth: origin.steps.steps.count))
  }

  /// Whether a rollback threw the error.
  var isOfRollback: Bool {
    remarks.contains { if case .rollback = $0 { true } else { false } }
  }

  /// The helpers that didn't succeed, and what went wrong with them.
  var helpers: [(name: String, failure: OperationFailure)] {
    remarks.compactMap { remark in
      if case .helper(let name, let failure) = remark { (name, failure) } else { nil }
    }
  }

  /// The lines behind the attempts of a retry, each with the number of steps that are left of the
  /// origin there.
  var ends: [(depth: Int, text: String)] {
    remarks.compactMap { remark in
      guard case .gaveUp(let attempts, let limit, let depth) = remark else { return nil }
      let count = counted(attempts, "attempt")
      return (depth, "gave up after \(count): total limit of \(limit.readable)")
    }
  }

  /// The lines before an error of which others aren't kept, each with the number of steps that are
  /// left of the origin there.
  var gaps: [(depth: Int, text: String)] {
    remarks.compactMap { remark in
      guard case .leftOut(let count, let kind, let depth) = remark else { return nil }
      return (depth, kind.text(count))
    }
  }

  /// The same error with another origin.
  func from(_ origin: OperationFailure.Origin) -> Self {
    var element = self
    element.origin = origin
    return element
  }
}
