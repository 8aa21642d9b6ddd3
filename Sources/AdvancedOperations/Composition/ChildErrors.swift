package import CoreOperations

/// What children reported, for the failure of their parent: a plain value behind its lock.
package struct ChildErrors {
  private struct Report {
    let number: Int
    let operation: Operation
    let elements: [OperationFailure.Element]
  }

  /// Gets an error of a child; returns the one to record, or nil when its parent has recovered.
  package typealias Hook = @Sendable (AdvancedOperation, any Error) -> (any Error)?

  private var reports: [Report] = []
  /// How many operations, those of groups inside included, didn't run because of errors.
  var notRunCount = 0

  package init() {}

  /// Keeps what a child reported.
  ///
  /// - Parameters:
  ///   - elements: Its errors.
  ///   - notRunCount: How many operations didn't run because of errors.
  ///   - operation: The child.
  ///   - number: Its place among the children.
  package mutating func record(
    _ elements: [OperationFailure.Element],
    notRunCount: Int,
    of operation: Operation,
    number: Int
  ) {
    self.notRunCount += notRunCount
    if elements.isEmpty { return }
    reports.append(Report(number: number, operation: operation, elements: elements))
  }

  /// The causes, in the order of the children, without what one inherited from another: such a
  /// child is counted.
  ///
  /// To be asked without the lock: this calls the program, an override of `dependencies` for
  /// instance.
  package var summary: OperationFailure {
    let reports = reports.filter { ($0.operation as? AdvancedOperation)?.isRecovered != true }
      .sorted { $0.number < $1.number }
    let failed = Set(reports.map { ObjectIdentifier($0.operation) })
    var failure = OperationFailure(elements: [], notRunCount: notRunCount)
    for report in reports {
      let followsSibling = report.operation.dependencies.contains {
        failed.contains(ObjectIdentifier($0))
      }
      let roots = report.elements.filter { !($0.isInherited && followsSibling) }
      if roots.isEmpty { failure.notRunCount += 1 }
      failure.elements += roots
    }
    return failure
  }
}

extension AdvancedOperation {
  /// What an operation that has ended adds to the errors of its parent.
  ///
  /// - Parameters:
  ///   - isCancelledByParent: Whether the parent has cancelled its children, so that the reason is
  ///     its own.
  ///   - isPlainCancelAnError: Whether a cancel without a reason, by other code, is one.
  /// - Returns: The errors with their origins in the child.
  final func elementsForParent(
    isCancelledByParent: Bool,
    isPlainCancelAnError: Bool = true
  ) -> [OperationFailure.Element] {
    if isRecovered { return [] }
    switch outcome {
    case .succeeded, .skipped, nil: return []
    case .failed(let failure): return failure.elements
    case .cancelled(let failure):
      if isCancelledByParent { return failure.elements.filter { $0.origin != .cancel } }
      if !failure.elements.isEmpty || !isPlainCancelAnError { return failure.elements }
      return [.init(origin: .cancel, error: CancellationError())]
    }
  }
}

extension [OperationFailure.Element] {
  /// The same as those of a child.
  ///
  /// - Parameters:
  ///   - child: Whose they are.
  ///   - hook: What becomes of each.
  /// - Returns: Those that are left, with their origins in the child.
  func inChild(_ child: Operation, _ hook: ChildErrors.Hook? = nil) -> Self {
    let label = child.label
    return compactMap { element in
      var element = element.from(.child(label, element.origin))
      if let hook, let child = child as? AdvancedOperation {
        guard let error = hook(child, element.error) else { return nil }
        element.error = error
      }
      return element
    }
  }
}
