/// Tells the closures apart that run in a queue; never 0.
package typealias ClosureNumber = UInt64

/// Closures that are no operations, because nothing has looked at them.
///
/// What a program adds as a closure it seldom asks for as an operation, and an operation is an
/// object with four cache lines. So a queue that holds nothing else keeps closures as they are: a
/// line of those that wait, and a number for each that runs. As soon as something looks
/// (`operations`, a cancel of all, a barrier, an operation that comes, code of a closure that
/// waits), all of them become what they would have been from the beginning, in one step under the
/// lock, so that no code sees a difference. From then on, closures that come are operations as
/// well, until the queue has no operation any more.
package struct QueueClosures {
  /// What generic code can hand on without a thunk.
  package struct Closure: Sendable {
    package let run: @Sendable () -> Void
    package init(run: @escaping @Sendable () -> Void) { self.run = run }
  }

  private var waiting = FirstInFirstOut<Closure>()
  /// In the order of their starts, but for gaps that the last one fills.
  private var running: [ClosureNumber] = []
  private var lastNumber: ClosureNumber = 0
  /// The operations that some of those that run have become.
  private var made: [(number: ClosureNumber, member: Member)] = []

  /// How many there are that are no operations.
  package var count: Int { waiting.count + running.count }
  /// How many of those run.
  package var runningCount: Int { running.count }
  var isEmpty: Bool { waiting.isEmpty && running.isEmpty }
  var hasWaiting: Bool { !waiting.isEmpty }

  mutating func append(_ closure: Closure) { waiting.append(closure) }

  /// Takes the first one, which runs from now on.
  mutating func begin() -> (ClosureNumber, Closure)? {
    guard let first = waiting.popFirst() else { return nil }
    lastNumber += 1
    running.append(lastNumber)
    return (lastNumber, first)
  }

  /// One has returned that is no operation.
  mutating func ended(_ number: ClosureNumber) {
    guard let place = running.lastIndex(of: number) else { trap("a closure returned twice") }
    running[place] = running[running.count - 1]
    running.removeLast()
  }

  /// The operation that one has become which runs; nil if it is none.
  func member(madeOf number: ClosureNumber) -> Member? {
    made.first { $0.number == number }?.member
  }

  /// The same, once: nothing is known of it here afterwards.
  mutating func takeMember(madeOf number: ClosureNumber) -> Member? {
    guard let place = made.firstIndex(where: { $0.number == number }) else { return nil }
    return made.remove(at: place).member
  }

  /// Takes all out, those that run in the order of their starts: they become operations.
  mutating func takeAll() -> (running: [ClosureNumber], waiting: FirstInFirstOut<Closure>) {
    (exchange(&running, with: []).sorted(), exchange(&waiting, with: FirstInFirstOut()))
  }

  /// One that runs has become an operation.
  mutating func became(_ member: Member, _ number: ClosureNumber) { made.append((number, member)) }
}

extension SchedulerState {
  /// Whether nothing in the queue is an operation, and nothing looks at what comes.
  private var takesClosures: Bool {
    keepsClosures && members.count == 0 && !isWatched && gate == nil && !source.isStepped
  }

  /// Takes in a closure as it is, if that can't be told from an operation.
  ///
  /// - Returns: Whether it did; if not, it has to come as an operation.
  package mutating func closureAdded(
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
  /// That makes nothing wait in the line for slots (``noteWaitInLine()``), which is empty while
  /// there are closures.
  mutating func startClosure(_ effects: inout Effects) -> Step? {
    guard let (number, closure) = closures.begin() else { return nil }
    slotsInUse += 1
    effects.closure = closure
    return .run(number)
  }

  /// A closure returned that is no operation.
  mutating func closureReturned(_ number: ClosureNumber, _ effects: inout Effects) {
    closures.ended(number)
    slotsInUse -= 1
    leftCount += 1
    effects.haveMembersLeft = true
    noteIdle(&effects)
  }

  /// All members in the order of adding, what was added as a closure among them.
  package mutating func operations() -> [Operation] {
    closuresBecomeOperations()
    return members.operations
  }

  /// Makes operations of all closures, because something looks at what is in the queue.
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
      member.fields.holdsSlot = true
      member.fields.isOnStack = true
      closures.became(member, number)
    }
    for index in 0..<waiting.count {
      _ = becameMember(BlockOperation(block: waiting[index].run), of: owner)
    }
  }

  /// Takes in an operation that was counted as a closure before, and could start.
  private mutating func becameMember(
    _ operation: BlockOperation,
    of owner: OperationQueue
  ) -> Member {
    operation.life.step { _ = $0.enqueued() }
    operation.withLinks { $0.enter(owner.scheduler) }
    let member = Member(operation)
    members.append(member)
    member.fields.segment = activeSegment
    activeMembers += 1
    move(member, to: .waiting)
    operation.readiness.step { _ = $0.letIn() }
    move(member, to: .ready)
    return member
  }
}

extension BlockOperation {
  /// Makes it what it would be if its block ran since before.
  fileprivate final func becomeRunning() {
    withLinks { $0.hasTakenBlocks = true }
    guard life.step({ $0.turnCameToMain() }) else { trap("a new operation could not begin") }
  }
}
