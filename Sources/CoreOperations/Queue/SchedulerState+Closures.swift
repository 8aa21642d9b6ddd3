/// The number that identifies a closure while it runs in a queue; never 0.
typealias ClosureNumber = UInt64

/// The closures of a queue that aren't operations yet, because no code has accessed them as operations.
///
/// A program seldom accesses a closure as an operation, and an operation is an object with four cache lines.
/// So a queue that contains only closures stores them without operations: a list of the closures that wait,
/// and a number for each closure that runs.
///
/// All closures become operations when some code could notice the difference. This code reads `operations`,
/// cancels all operations, adds a barrier or an operation, or waits inside of a closure. The change is one
/// step under the lock, and the operations are in the state that they would have had from the beginning. From
/// then on, each new closure becomes an operation immediately, until the queue contains no operation any
/// more.
struct QueueClosures {
  /// A closure in a structure, which generic code can pass on without a thunk.
  struct Closure: Sendable {
    let run: @Sendable () -> Void
    init(run: @escaping @Sendable () -> Void) { self.run = run }
  }

  private var waiting = FirstInFirstOut<Closure>()
  /// The numbers of the running closures in the order of their starts, except that the last number fills the
  /// gap of a closure that has ended.
  private var running: [ClosureNumber] = []
  private var lastNumber: ClosureNumber = 0
  /// The operations that running closures have become.
  private var made: [(number: ClosureNumber, member: Member)] = []

  /// The number of closures that aren't operations.
  var count: Int { waiting.count + running.count }
  /// The number of these closures that are running.
  var runningCount: Int { running.count }
  var isEmpty: Bool { waiting.isEmpty && running.isEmpty }
  var hasWaiting: Bool { !waiting.isEmpty }

  mutating func append(_ closure: Closure) { waiting.append(closure) }

  /// Removes the first waiting closure, which runs from now on.
  mutating func begin() -> (ClosureNumber, Closure)? {
    guard let first = waiting.popFirst() else { return nil }
    lastNumber += 1
    running.append(lastNumber)
    return (lastNumber, first)
  }

  /// Removes a closure that has returned, and that isn't an operation.
  mutating func ended(_ number: ClosureNumber) {
    guard let place = running.lastIndex(of: number) else {
      internalError("a closure returned twice")
    }
    running[place] = running[running.count - 1]
    running.removeLast()
  }

  /// Returns the operation that a running closure has become; nil if it hasn't become an operation.
  func member(madeOf number: ClosureNumber) -> Member? {
    made.first { $0.number == number }?.member
  }

  /// Removes and returns the operation that a running closure has become; nil if it hasn't become an
  /// operation.
  mutating func takeMember(madeOf number: ClosureNumber) -> Member? {
    guard let place = made.firstIndex(where: { $0.number == number }) else { return nil }
    return made.remove(at: place).member
  }

  /// Removes all closures, so that they become operations.
  ///
  /// The running closures are in the order of their starts.
  mutating func takeAll() -> (running: [ClosureNumber], waiting: FirstInFirstOut<Closure>) {
    (exchange(&running, with: []).sorted(), exchange(&waiting, with: FirstInFirstOut()))
  }

  /// Records the operation that a running closure has become.
  mutating func became(_ member: Member, _ number: ClosureNumber) { made.append((number, member)) }
}

extension SchedulerState {
  /// Whether the queue contains no operation, and no code observes new closures.
  private var takesClosures: Bool {
    keepsClosures && members.count == 0 && !isWatched && gate == nil && !source.isStepped
  }

  /// Stores a closure without an operation, if no code can notice the difference.
  ///
  /// - Returns: Whether the closure was stored; otherwise it has to be added as an operation.
  mutating func closureAdded(
    _ closure: QueueClosures.Closure,
    owner: OperationQueue
  ) -> Bool {
    guard takesClosures else { return false }
    if isIdle { begin(owner) }
    addedCount += 1
    closures.append(closure)
    return true
  }

  /// Gives a slot to the first of the closures that wait.
  ///
  /// The start makes no operation wait, because the waiting list for slots is empty while there are closures.
  mutating func startClosure(_ effects: inout Effects) -> Step? {
    guard let (number, closure) = closures.begin() else { return nil }
    slotsInUse += 1
    effects.closure = closure
    return .run(number)
  }

  /// Handles the return of a closure that isn't an operation.
  mutating func closureReturned(_ number: ClosureNumber, _ effects: inout Effects) {
    closures.ended(number)
    slotsInUse -= 1
    leftCount += 1
    effects.haveMembersLeft = true
    noteIdle(&effects)
  }

  /// Returns all members in the order of adding, including members that were added as closures.
  mutating func operations() -> [Operation] {
    closuresBecomeOperations()
    return members.operations
  }

  /// Turns all closures into operations, because some code accesses the contents of the queue.
  ///
  /// - Complexity: O(n), n the number of closures; each becomes an operation once.
  mutating func closuresBecomeOperations() {
    guard !closures.isEmpty, let owner else { return }
    let (running, waiting) = closures.takeAll()
    for number in running {
      let operation = BlockOperation()
      let member = becameMember(operation, of: owner)
      operation.becomeRunning()
      move(member, to: .started)
      self[member, .holdsSlot] = true
      self[member, .isOnStack] = true
      closures.became(member, number)
    }
    for index in 0..<waiting.count {
      _ = becameMember(BlockOperation(block: waiting[index].run), of: owner)
    }
  }

  /// Adds an operation that was counted as a closure before, and could start.
  private mutating func becameMember(
    _ operation: BlockOperation,
    of owner: OperationQueue
  ) -> Member {
    operation.life.step { _ = $0.enqueued() }
    operation.withLinks { $0.enter(owner.scheduler) }
    let member = Member(operation)
    members.append(member)
    self[member].segment = activeSegment
    activeMembers += 1
    move(member, to: .waiting)
    operation.readiness.step { _ = $0.letIn() }
    move(member, to: .ready)
    return member
  }
}

extension BlockOperation {
  /// Puts the operation into the state of an operation whose block is running.
  fileprivate final func becomeRunning() {
    withLinks { $0.hasTakenBlocks = true }
    guard life.step({ $0.turnCameToMain() }) else {
      internalError("a new operation could not begin")
    }
  }
}
