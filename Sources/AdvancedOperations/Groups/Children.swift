package import CoreOperations

/// The children of a group, of a round or of a scope: who has come, who may still come, and when
/// all have ended.
///
/// A plain value behind the lock of their parent. A child comes, which is when it is counted; it
/// has come, which is when the parent may touch it; and it ends. Children are closed, once, when
/// all have ended and the parent adds no more itself: nothing comes after that.
package struct Children {
  /// How far the children are; only ever forward.
  package enum Phase: Equatable, CaseIterable, Sendable {
    /// The parent hasn't begun to run them. Exits: `beginning`; `closed`, of a scope.
    case waiting
    /// The parent adds what it has, so that nothing closes them. Exits: `running`, `closed`.
    case beginning
    /// Exit: `closed`, with the last that ends.
    case running
    /// No exit.
    case closed
  }

  /// What becomes of children that come.
  package enum ComingAction: Equatable {
    /// They are taken in, under numbers from this one on; `came` follows.
    case take(Int)
    /// They are cancelled, and aren't children: the parent has begun to run its children and was
    /// stopped, so children that add others at their ends would keep it forever.
    case turnAway
    case refuseAsTooLate
  }

  /// What follows when a child has ended, or the parent has begun.
  package enum EndAction {
    /// Others go on, or may come.
    case none
    /// All have ended, and are closed; said once.
    case close
    /// All have ended: wake what waits for that, without the lock.
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
  /// How many have come, or are coming.
  package private(set) var count = 0
  /// Whether the parent has cancelled its children.
  private var isStopped = false
  private var openCount = 0
  private var comingCount = 0
  private var waiter: Waiter?
  /// What those that have ended reported.
  package var errors = ChildErrors()

  /// - Parameter isListed: Whether the children are kept until the parent lets go of them; those of
  ///   a scope may be many, and are in its queue.
  package init(isListed: Bool = true) { self.isListed = isListed }

  /// Those of a list that have come, in the order of their coming, ended or not.
  package var operations: [Operation] { list.lazy.filter(\.hasCome).map(\.operation) }

  /// The first of them that has come.
  package var first: Operation? { list.first { $0.hasCome }?.operation }

  // MARK: Events

  /// Children are being added; until ``came(_:)``, nothing is done with them.
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

  /// Children that were being added are ready for all that the parent does with them.
  package mutating func came(_ numbers: Range<Int>) {
    comingCount -= numbers.count
    if isListed { for number in numbers { list[number].hasCome = true } }
  }

  /// The parent cancels its children.
  package mutating func stopped() { isStopped = true }

  /// The parent runs its children; ``begun()`` follows.
  package mutating func begins() {
    switch phase {
    case .waiting: phase = .beginning
    case .beginning, .running, .closed: trap("the children of an operation were started twice")
    }
  }

  /// The parent has added what it had.
  package mutating func begun() -> EndAction {
    switch phase {
    case .beginning: phase = .running
    case .waiting, .running, .closed: trap("the children of an operation had not begun")
    }
    return ifAllHaveEnded()
  }

  /// A child has ended.
  package mutating func ended(_ number: Int) -> EndAction {
    if isListed {
      if list[number].hasEnded { trap("a child of an operation ended twice") }
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

  /// The parent waits until all have ended; one at a time.
  ///
  /// - Returns: Whether they have, so that it isn't woken.
  package mutating func waits(_ waiter: @escaping Waiter) -> Bool {
    if openCount > 0 { self.waiter = waiter }
    return openCount == 0
  }

  /// A scope wants to end, and has seen that all had ended when there were so many.
  ///
  /// - Returns: Whether none has come since, and so none comes any more.
  package mutating func closes(with seen: Int) -> Bool {
    if comingCount == 0, openCount == 0, count == seen { phase = .closed }
    return phase == .closed
  }

  /// The parent lets go of them: returns what it held.
  package mutating func taken() -> [Operation] { exchange(&list, with: []).map(\.operation) }
}

/// The part of an operation that runs others and waits for them: a group, or the rounds of an
/// operation that retries, repeats or recovers.
///
/// No method is called with a lock held.
protocol ChildRunner: AnyObject, Sendable {
  /// Whether children will start when the operation does.
  var hasWaitingChildren: Bool { get }
  /// The children that have not ended.
  var openChildren: [Operation] { get }
  /// Takes in an operation that a child has produced.
  ///
  /// - Parameters:
  ///   - operation: The produced operation.
  ///   - owner: The operation whose part this is.
  /// - Returns: Whether it was in time.
  func adopt(_ operation: AdvancedOperation, of owner: AdvancedOperation) -> Bool
  /// The outcome of a child is decided, and no operation that waits for its end knows.
  func childEnds(_ child: AdvancedOperation)
  /// A child has said how far it is.
  ///
  /// - Returns: What the operation says because of that.
  func child(
    _ child: AdvancedOperation,
    didUpdateProgress update: OperationProgress,
    of owner: AdvancedOperation
  ) -> ProgressNews?
  /// The end was decided before the children were started: they leave.
  func letChildrenLeave()
  /// The operation was cancelled, and waits for its children.
  func stop(reason: (any Error)?)
  /// The operation is idle.
  func ownerIsIdle()
  /// A simulation has abandoned the operation.
  func abandoned()
}

extension ChildRunner {
  func childEnds(_ child: AdvancedOperation) {}
  func letChildrenLeave() {}
  func abandoned() {}
}

extension Children.EndAction {
  /// Wakes what waits for the end, if something does.
  func wake() {
    switch self {
    case .none, .close: break
    case .wake(let waiter): waiter()
    }
  }
}

extension Operation {
  /// Calls a closure when nothing of the operation goes on any more; a plain one has finished then.
  final func whenIdle(_ body: @escaping @Sendable (Operation) -> Void) {
    if let operation = self as? AdvancedOperation {
      operation.afterIdle(body)
    } else {
      whenFinished(body)
    }
  }

  /// Whether it keeps a parent from ending; to be asked without the parent's lock.
  var isOpenAsChild: Bool {
    guard let operation = self as? AdvancedOperation else { return !isFinished }
    return !operation.withCore { $0.machine.isIdle }
  }
}

extension Locked {
  /// Waits until all children have ended, also in a cancelled task.
  borrowing func untilAllEnded(_ children: WritableKeyPath<Value, Children>) async {
    await withCheckedContinuation { continuation in
      let haveEnded = withLock { $0[keyPath: children].waits { continuation.resume() } }
      if haveEnded { continuation.resume() }
    }
  }
}
