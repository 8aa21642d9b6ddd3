package import CoreOperations

/// The children of a group, of a round or of a scope, with their number and their ends.
///
/// The type is a plain value behind the lock of the parent. A child first is being added, and is counted from
/// then on. After the addition, the parent may use the child. Finally it ends. The children are closed once,
/// when all have ended and the parent adds no more children itself. After that no child can be added.
package struct Children {
  /// The progress of the children, which only moves forward.
  package enum Phase: Equatable, CaseIterable, Sendable {
    /// The parent hasn't begun to run the children. Exits: `beginning`; `closed`, for a scope.
    case waiting
    /// The parent adds its first children to the queue, so children that end don't close them. Exits:
    /// `running`, `closed`.
    case beginning
    /// The children are running. Exit: `closed`, when the last child ends.
    case running
    /// No child can be added any more. No exit.
    case closed
  }

  /// The parent's answer to operations that are being added as children.
  package enum ComingAction: Equatable {
    /// The operations become children, with numbers from this number on. A call of `came` follows.
    case take(Int)
    /// The operations are cancelled and don't become children, because the parent is running its children and
    /// was stopped.
    ///
    /// Otherwise children that add other children when they end would keep the parent running forever.
    case turnAway
    case refuseAsTooLate
  }

  /// The step that follows when a child has ended, or when the parent has begun.
  package enum EndAction {
    /// The parent continues, because other children are still running or may be added.
    case none
    /// No child is left, and no child can be added. The children return this action only once.
    case close
    /// The children have ended, and the waiter has to be woken without the lock.
    case wake(Waiter)
  }

  package typealias Waiter = @Sendable () -> Void

  private struct Child {
    let operation: Operation
    var hasCome = false
    var hasEnded = false
  }

  private let isListed: Bool
  private var list: [Child] = []
  package private(set) var phase = Phase.waiting
  /// The number of children that were added or are being added.
  package private(set) var count = 0
  /// A Boolean value that indicates whether the parent has cancelled its children.
  private var isStopped = false
  private var openCount = 0
  private var comingCount = 0
  private var waiter: Waiter?
  /// The errors that the children reported when they ended.
  package var errors = ChildErrors()

  /// - Parameter isListed: A Boolean value that indicates whether the children are kept until the parent
  ///   releases them. A scope doesn't list its children, because there may be many and its queue has them.
  package init(isListed: Bool = true) { self.isListed = isListed }

  /// The listed children that have been added, in the order of adding, even if they have ended.
  package var operations: [Operation] { list.lazy.filter(\.hasCome).map(\.operation) }

  /// The first listed child that has been added.
  package var first: Operation? { list.first { $0.hasCome }?.operation }

  // MARK: Events

  /// Records that children are being added.
  ///
  /// The parent doesn't use them before ``came(_:)``.
  package mutating func comes(_ operations: some Collection<Operation>) -> ComingAction {
    switch phase {
    case .closed: return .refuseAsTooLate
    case .running where isStopped: return .turnAway
    case .waiting, .beginning, .running: break
    }
    let first = count
    if isListed { list += operations.lazy.map { Child(operation: $0) } }
    count += operations.count
    openCount += operations.count
    comingCount += operations.count
    return .take(first)
  }

  /// Records that children have been added, so that the parent may use them.
  package mutating func came(_ numbers: Range<Int>) {
    comingCount -= numbers.count
    if isListed { for number in numbers { list[number].hasCome = true } }
  }

  /// Records that the parent cancels its children.
  package mutating func stopped() { isStopped = true }

  /// Records that the parent begins to run its children.
  ///
  /// A call of ``begun()`` follows.
  package mutating func begins() {
    switch phase {
    case .waiting: phase = .beginning
    case .beginning, .running, .closed:
      internalError("the children of an operation were started twice")
    }
  }

  /// Records that the parent has added its first children to the queue.
  package mutating func begun() -> EndAction {
    switch phase {
    case .beginning: phase = .running
    case .waiting, .running, .closed: internalError("the children of an operation had not begun")
    }
    return ifAllHaveEnded()
  }

  /// Records that a child has ended.
  package mutating func ended(_ number: Int) -> EndAction {
    if isListed {
      if list[number].hasEnded { internalError("a child of an operation ended twice") }
      list[number].hasEnded = true
    }
    openCount -= 1
    return ifAllHaveEnded()
  }

  private mutating func ifAllHaveEnded() -> EndAction {
    if openCount > 0 { return .none }
    let waiter = waiter.take()
    switch phase {
    case .running:
      phase = .closed
      return waiter.map { .wake($0) } ?? .close
    case .waiting, .beginning, .closed: return waiter.map { .wake($0) } ?? .none
    }
  }

  /// Waits until all children have ended.
  ///
  /// Only one waiter is possible at a time.
  ///
  /// - Returns: Whether all children have ended, so that the waiter isn't called.
  package mutating func waits(_ waiter: @escaping Waiter) -> Bool {
    if openCount > 0 { self.waiter = waiter }
    return openCount == 0
  }

  /// Closes the children of a scope if no child was added since the scope saw that all children had ended.
  ///
  /// - Parameter seen: The number of children that the scope saw.
  /// - Returns: Whether the children are closed.
  package mutating func closes(with seen: Int) -> Bool {
    if comingCount == 0, openCount == 0, count == seen { phase = .closed }
    return phase == .closed
  }

  /// Releases the children, and returns the children that were listed.
  package mutating func taken() -> [Operation] { exchange(&list, with: []).map(\.operation) }
}

/// The part of an operation that runs children and waits for them.
///
/// Such a part is a group, or the rounds of an operation that retries, repeats or recovers.
///
/// No method is called with a lock held.
protocol ChildRunner: AnyObject, Sendable {
  /// A Boolean value that indicates whether children will start when the operation does.
  var hasWaitingChildren: Bool { get }
  /// The children that have not ended.
  var openChildren: [Operation] { get }
  /// Accepts an operation that a child has produced.
  ///
  /// - Parameters:
  ///   - operation: The produced operation.
  ///   - owner: The operation that this child runner belongs to.
  /// - Returns: Whether the operation was accepted, because the owner was still running children.
  func adopt(_ operation: AdvancedOperation, of owner: AdvancedOperation) -> Bool
  /// Records that the outcome of a child is decided, before an operation that waits for its end is notified.
  func childEnds(_ child: AdvancedOperation)
  /// Records that a child has updated its progress.
  ///
  /// - Returns: The update of the owner's progress that follows from it.
  func child(
    _ child: AdvancedOperation,
    didUpdateProgress update: OperationProgress,
    of owner: AdvancedOperation
  ) -> ProgressNews?
  /// Lets the children leave, because the end of the operation was decided before it started them.
  func letChildrenLeave()
  /// Cancels the children, because the operation was cancelled.
  func stop(reason: (any Error)?)
  /// Releases resources, because the operation is idle.
  func ownerIsIdle()
  /// Releases resources, because a simulation has abandoned the operation.
  func abandoned()
}

extension ChildRunner {
  func childEnds(_ child: AdvancedOperation) {}
  func letChildrenLeave() {}
  func abandoned() {}
}

extension Children.EndAction {
  /// Calls the waiter for the end of the children, if there is a waiter.
  func wake() {
    switch self {
    case .none, .close: break
    case .wake(let waiter): waiter()
    }
  }
}

extension Operation {
  /// Calls a closure when the operation is idle.
  ///
  /// A plain operation is idle when it has finished.
  final func whenIdle(_ body: @escaping @Sendable (Operation) -> Void) {
    if let operation = self as? AdvancedOperation {
      operation.afterIdle(body)
    } else {
      whenFinished(body)
    }
  }

  /// A Boolean value that indicates whether the operation keeps its parent from ending.
  ///
  /// Read it without the parent's lock.
  var isOpenAsChild: Bool {
    guard let operation = self as? AdvancedOperation else { return !isFinished }
    return !operation.withCore { $0.machine.isIdle }
  }
}

extension Locked {
  /// Waits until all children have ended, even in a cancelled task.
  borrowing func untilAllEnded(_ children: WritableKeyPath<Value, Children>) async {
    await withCheckedContinuation { continuation in
      let haveEnded = withLock { $0[keyPath: children].waits { continuation.resume() } }
      if haveEnded { continuation.resume() }
    }
  }
}
