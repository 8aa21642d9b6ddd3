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
    /// The error is that of a condition whose helper, which was to make it hold, didn't succeed.
    case helper(String, OperationFailure)
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

  /// The same error with another origin.
  func from(_ origin: OperationFailure.Origin) -> Self {
    var element = self
    element.origin = origin
    return element
  }
}
