package import CoreOperations

/// What children reported, for the failure of their parent: a plain value behind its lock.
package struct ChildErrors {
  fileprivate struct Report {
    let number: Int
    let operation: Operation
    let elements: [OperationFailure.Element]

    var isRecovered: Bool { (operation as? AdvancedOperation)?.isRecovered == true }
    var awaitsRecovery: Bool { (operation as? AdvancedOperation)?.awaitsRecovery == true }
  }

  /// Gets an error of a child; returns the one to record, or nil when its parent has recovered.
  package typealias Hook = @Sendable (AdvancedOperation, any Error) -> (any Error)?

  private var reports: [Report] = []
  private var leftOut = LeftOut()
  /// How many reports there may be before some are left out.
  private var roomyCount = 4 * Crowd.keptCount
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
    let crowd = Crowd(reports)
    var elements: [OperationFailure.Element] = []
    var notRunCount = notRunCount
    /// The place of the first error after those that were left out.
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

  // MARK: Many

  /// Takes out the reports if there are so many that some of them are to be left out; the caller
  /// puts back what is left of them.
  mutating func takeCrowd() -> Crowd? {
    guard reports.count >= roomyCount else { return nil }
    return Crowd(all: exchange(&reports, with: []))
  }

  /// The ``summary``, in which some are left out if there are many.
  func thinnedSummary() -> OperationFailure {
    var errors = self
    errors.putBack(Crowd(all: exchange(&errors.reports, with: [])).thinnedOut())
    return errors.summary
  }

  /// Puts back what was taken out and thinned.
  mutating func putBack(_ crowd: Crowd) {
    reports += crowd.reports
    leftOut.add(crowd.leftOut)
    notRunCount += crowd.notRunCount
    // Those that may still be recovered from stay, however many they are.
    roomyCount = max(4 * Crowd.keptCount, 2 * reports.count)
  }

  /// What was left out: it is only counted, and one error is kept.
  struct LeftOut {
    fileprivate var count = 0
    /// The lowest number of a child of which the report was left out.
    fileprivate var firstNumber: Int?
    /// The errors of one.
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

    /// Notes with one of some errors how many others there were.
    fileprivate func note(in elements: inout [OperationFailure.Element], at place: Int?) {
      if count == 0 { return }
      // All that was kept may have been recovered from.
      let isExample = elements.isEmpty
      if isExample { elements = example }
      let count = isExample ? count - 1 : count
      guard count > 0, !elements.isEmpty else { return }
      elements[min(place ?? .max, elements.count - 1)].noteLeftOut(count, .operations)
    }
  }

  /// Reports that were taken out, to be looked at without the lock.
  struct Crowd {
    /// How many reports are kept at each end.
    fileprivate static let keptCount = 64

    /// In the order of the children; without those that were recovered from.
    fileprivate private(set) var reports: [Report]
    private let failed: Set<ObjectIdentifier>
    fileprivate private(set) var leftOut = LeftOut()
    fileprivate private(set) var notRunCount = 0
    /// All that was taken out: released with this, and not under a lock.
    private var all: [Report] = []

    fileprivate init(_ reports: [Report]) {
      self.reports = reports.filter { !$0.isRecovered }.sorted { $0.number < $1.number }
      failed = Set(self.reports.map { ObjectIdentifier($0.operation) })
    }

    fileprivate init(all: [Report]) {
      self.init([])
      self.all = all
    }

    /// Leaves out what is neither among the first nor the last, unless it may still be recovered
    /// from.
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
        // A recovery may have ended since.
        if report.isRecovered { continue }
        let roots = crowd.roots(of: report)
        if roots.isEmpty { crowd.notRunCount += 1 } else { crowd.leftOut.add(report.number, roots) }
        (report.operation as? AdvancedOperation)?.withCore { $0.makeExtra().isLeftOut = true }
      }
      return crowd
    }

    /// The errors of a child that aren't those of another one.
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
  /// Whether its parent only counts its failure, because there were so many.
  fileprivate final var wasLeftOut: Bool { withCore { $0.extra?.isLeftOut == true } }
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
