/// Runs a closure without the slot of the calling operation, and takes a slot again.
///
/// An operation keeps its slot while its body awaits. If the body awaits operations that need a slot
/// of the same queue, use this function, so that these operations can run:
///
/// ```swift
/// let queue = OperationQueue()
/// queue.maxConcurrentOperationCount = 1
/// queue.addOperation {
///   let second = BlockOperation { print("second") }
///   queue.addOperation(second)
///   try? await releasingSlot { try await second.untilFinished() }
///   print("the first continues")
/// }
/// // second
/// // the first continues
/// ```
///
/// After the closure, the operation waits for a slot. Operations of its priority that were added to
/// the queue later start after it. The operation also waits while the queue is suspended, or while
/// the limit is 0. It is executing all the time, so a queue may have more executing operations than
/// slots.
///
/// - The operation keeps its claims. If an operation in the closure needs one of these claims, the
///   wait for that operation throws an ``OperationCycleError``.
/// - Calls in the same operation at the same time, in child tasks for example, release one slot. The
///   first call releases the slot, and the last call takes a slot again. The other calls return
///   without a slot. A call in the closure of another call only runs its closure.
/// - If the operation is cancelled, the call doesn't wait for a slot. The body continues without a
///   slot until its end. If only the calling task is cancelled, the call waits.
/// - If the operation has no slot, the call only runs its closure. This applies to an operation that
///   was started manually or has finished, and to a prerequisite of a condition.
///
/// - If a task of an attempt is in the closure when the next attempt of a retry begins, the operation
///   waits for a slot first. The task continues without a slot.
///
/// - Parameters:
///   - fileID: The file of the call, for the message if the precondition isn't satisfied.
///   - line: The line of the call.
///   - body: The closure, which is called once, where the caller runs.
/// - Returns: The result of the closure, even if the operation was cancelled.
/// - Throws: The error of the closure.
/// - Precondition: The caller is the async body of an operation, or a task that inherits the
///   task-locals of this body.
public func releasingSlot<R>(
  fileID: StaticString = #fileID,
  line: UInt = #line,
  _ body: () async throws -> R
) async rethrows -> R {
  guard let operation = TaskContext.current?.operation, operation.hasBegun else {
    trap(
      "releasingSlot { } was called outside of the async body of an operation, where there is no slot "
        + "to release. Call it in the body of a ResultOperation or of an async addOperation { }.",
      file: fileID,
      line: line
    )
  }
  guard let scheduler = operation.scheduler, let release = scheduler.releaseBegan(operation) else {
    return try await body()
  }
  let result: R
  do { result = try await body() } catch {
    await scheduler.takeAgain(release, of: operation)
    throw error
  }
  await scheduler.takeAgain(release, of: operation)
  return result
}

extension Scheduler {
  /// The body of an operation releases its slot.
  ///
  /// - Returns: The release, which ``takeAgain(_:of:)`` ends; nil if there is no slot to release.
  fileprivate func releaseBegan(_ operation: Operation) -> SlotRelease? {
    let begun = update { $0.releaseBegan(Member(operation)) }
    begun?.resumed?.finish()
    return begun?.release
  }

  /// Waits for the slot, whether the task is cancelled or not: the code behind it needs the slot.
  fileprivate func takeAgain(_ release: SlotRelease, of operation: Operation) async {
    let wait = AsyncWait()
    let waits = update { $0.releaseEnded(Member(operation), release, waitingWith: wait) }
    if waits { await untilSlotIsTaken(by: operation, wait) }
  }

  /// A new attempt of an operation begins, and waits for a slot if the attempt before has left without one.
  fileprivate func takeOver(_ operation: Operation) async {
    let wait = AsyncWait()
    let (waits, resumed) = update { $0.releaseTakenOver(Member(operation), waitingWith: wait) }
    resumed?.finish()
    if waits { await untilSlotIsTaken(by: operation, wait) }
  }

  private func untilSlotIsTaken(by operation: Operation, _ wait: AsyncWait) async {
    RunTimeCycles.checkPaused(operation)
    operation.layer?.waitsForSlot(true)
    await wait.untilFinished()
    operation.layer?.waitsForSlot(false)
    // Other code of the operation may have begun to wait for a member while the slot was released. The
    // awaited member may need the slot that this operation holds.
    if operation.hasOwnWaits { RunTimeCycles.checkWaiting(in: self) }
  }

  /// An executing operation was cancelled: if its body waits for its slot, the body continues.
  func cancelledWhileExecuting(_ operation: Operation) {
    update { $0.cancelledInRelease(Member(operation)) }?.finish()
  }
}

extension Operation {
  /// Waits for a slot before the next attempt, if a task of the previous attempt has released the slot and
  /// hasn't taken it again.
  package final func takeSlotForAttempt() async { await scheduler?.takeOver(self) }

  /// Whether the body has released its slot and doesn't wait for it yet.
  package final var hasReleasedSlot: Bool {
    scheduler?.state.withLock { $0.hasReleasedSlot(Member(self)) } ?? false
  }
}
