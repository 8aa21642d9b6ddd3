package import CoreOperations

/// The errors that children reported, for the failure of their parent: a plain value behind the parent's
/// lock.
package struct ChildErrors {
  fileprivate struct Report {
    let number: Int
    let operation: Operation
    let elements: [OperationFailure.Element]

    var isRecovered: Bool { (operation as? AdvancedOperation)?.isRecovered == true }
    var awaitsRecovery: Bool { (operation as? AdvancedOperation)?.awaitsRecovery == true }
  }

  /// Receives an error of a child, and returns the error to record, or nil if the parent has recovered from
  /// it.
  package typealias Hook = @Sendable (AdvancedOperation, any Error) -> (any Error)?

  private var reports: [Report] = []
  private var leftOut = LeftOut()
  /// The number of reports from which on some reports are left out.
  private var roomyCount = 4 * Crowd.keptCount
  /// The number of operations that didn't run because of errors, including operations of nested groups.
  var notRunCount = 0

  package init() {}

  /// Keeps the errors that a child reported.
  ///
  /// - Parameters:
  ///   - elements: The errors of the child.
  ///   - notRunCount: The number of operations that didn't run because of errors.
  ///   - operation: The child.
  ///   - number: The position of the child among the children.
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

  /// The root causes, in the order of the children.
  ///
  /// An error that a child inherited from a sibling is left out, and the child is counted instead.
  ///
  /// Read this property without the parent's lock, because it calls code of the program, such as an override
  /// of `dependencies`.
  package var summary: OperationFailure {
    let crowd = Crowd(reports)
    var elements: [OperationFailure.Element] = []
    var notRunCount = notRunCount
    /// The position of the first error after the errors that were left out.
    var gap: Int?
    for report in crowd.reports {
      let roots = crowd.roots(of: report)
      if roots.isEmpty { notRunCount += 1 }
      if gap == nil, let number = leftOut.firstNumber, report.number > number {
        gap = elements.count
      }
      elements += roots
    }
    leftOut.note(in: &elements, at: gap)
    return OperationFailure(elements: elements, notRunCount: notRunCount)
  }

  // MARK: Many reports

  /// Takes out the reports if there are so many that some of them have to be left out.
  ///
  /// The caller puts back the reports that remain.
  mutating func takeCrowd() -> Crowd? {
    guard reports.count >= roomyCount else { return nil }
    return Crowd(all: exchange(&reports, with: []))
  }

  /// The ``summary``, without some of the errors if there are many.
  func thinnedSummary() -> OperationFailure {
    var errors = self
    errors.putBack(Crowd(all: exchange(&errors.reports, with: [])).thinnedOut())
    return errors.summary
  }

  /// Puts back the reports that were taken out and thinned.
  mutating func putBack(_ crowd: Crowd) {
    reports += crowd.reports
    leftOut.add(crowd.leftOut)
    notRunCount += crowd.notRunCount
    // Reports that a parent may still recover from are kept, however many there are.
    roomyCount = max(4 * Crowd.keptCount, 2 * reports.count)
  }

  /// The reports that were left out: their number, and the errors of one report as an example.
  struct LeftOut {
    fileprivate var count = 0
    /// The lowest number of a child whose report was left out.
    fileprivate var firstNumber: Int?
    /// The errors of one report that was left out.
    private var example: [OperationFailure.Element] = []

    fileprivate mutating func add(_ number: Int, _ elements: [OperationFailure.Element]) {
      count += 1
      firstNumber = min(firstNumber ?? number, number)
      if example.isEmpty { example = elements }
    }

    fileprivate mutating func add(_ other: LeftOut) {
      count += other.count
      if let number = other.firstNumber { firstNumber = min(firstNumber ?? number, number) }
      if example.isEmpty { example = other.example }
    }

    /// Notes in one of the errors how many other errors were left out.
    fileprivate func note(in elements: inout [OperationFailure.Element], at place: Int?) {
      if count == 0 { return }
      // The parent may have recovered from all errors that were kept.
      let isExample = elements.isEmpty
      if isExample { elements = example }
      let count = isExample ? count - 1 : count
      guard count > 0, !elements.isEmpty else { return }
      elements[min(place ?? .max, elements.count - 1)].noteLeftOut(count, .operations)
    }
  }

  /// Reports that were taken out, so that they can be examined without the lock.
  struct Crowd {
    /// The number of reports that are kept at each end.
    fileprivate static let keptCount = 64

    /// The reports in the order of the children, without reports that a parent has recovered from.
    fileprivate private(set) var reports: [Report]
    private let failed: Set<ObjectIdentifier>
    fileprivate private(set) var leftOut = LeftOut()
    fileprivate private(set) var notRunCount = 0
    /// The reports that were taken out.
    ///
    /// They are released with this value, and so while no lock is held.
    private var all: [Report] = []

    fileprivate init(_ reports: [Report]) {
      self.reports = reports.filter { !$0.isRecovered }.sorted { $0.number < $1.number }
      failed = Set(self.reports.map { ObjectIdentifier($0.operation) })
    }

    fileprivate init(all: [Report]) {
      self.init([])
      self.all = all
    }

    /// Leaves out the reports in the middle, except for reports that a parent may still recover from.
    func thinnedOut() -> Crowd {
      var crowd = Crowd(all)
      crowd.all = all
      let sorted = crowd.reports
      guard sorted.count > 2 * Self.keptCount else { return crowd }
      let middle = Self.keptCount..<sorted.count - Self.keptCount
      crowd.reports = []
      for (index, report) in sorted.enumerated() {
        guard middle.contains(index), !report.awaitsRecovery else {
          crowd.reports.append(report)
          continue
        }
        // A recovery may have finished since the reports were sorted.
        if report.isRecovered { continue }
        let roots = crowd.roots(of: report)
        if roots.isEmpty { crowd.notRunCount += 1 } else { crowd.leftOut.add(report.number, roots) }
        (report.operation as? AdvancedOperation)?.withCore { $0.makeExtra().isLeftOut = true }
      }
      return crowd
    }

    /// The errors of a child that it didn't inherit from a sibling.
    fileprivate func roots(of report: Report) -> [OperationFailure.Element] {
      let followsSibling = report.operation.dependencies.contains { dependency in
        failed.contains(ObjectIdentifier(dependency))
          || (dependency as? AdvancedOperation)?.wasLeftOut == true
      }
      return report.elements.filter { !($0.isInherited && followsSibling) }
    }
  }
}

extension AdvancedOperation {
  /// A Boolean value that indicates whether the parent only counts the failure of this operation, because too
  /// many children failed.
  fileprivate final var wasLeftOut: Bool { withCore { $0.extra?.isLeftOut == true } }
}

extension AdvancedOperation {
  /// Returns the errors that an operation whose outcome is decided adds to the errors of its parent.
  ///
  /// - Parameters:
  ///   - isCancelledByParent: A Boolean value that indicates whether the parent has cancelled its children,
  ///     so that the reason is an error of the parent.
  ///   - isPlainCancelAnError: A Boolean value that indicates whether a cancel without a reason, by other
  ///     code than the parent, is an error.
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
  /// Returns the errors with their origins in a child.
  ///
  /// - Parameters:
  ///   - child: The operation that reported the errors.
  ///   - hook: The closure that maps each error.
  /// - Returns: The errors that the hook didn't remove, with their origins in the child.
  func inChild(_ child: Operation, _ hook: ChildErrors.Hook? = nil) -> Self {
    let label = child.nameAndTag
    return compactMap { element in
      var element = element.within(.child(label))
      if let hook, let child = child as? AdvancedOperation {
        guard let error = hook(child, element.error) else { return nil }
        element.error = error
      }
      return element
    }
  }
}
