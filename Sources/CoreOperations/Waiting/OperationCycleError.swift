/// An error that names operations that wait for each other in a cycle, so none of them can run.
///
/// ```swift
/// // One slot, which the first one holds while it waits for the second.
/// queue.maxConcurrentOperationCount = 1
/// queue.addOperation {
///   queue.addOperation(second)
///   do { try await second.untilFinished() } catch { caught("\(error)") }
/// }
/// // These operations wait for each other in a cycle, so none of them can run:
/// // AsyncBlockOperation → BlockOperation → AsyncBlockOperation. Remove one of these waits, or
/// // await inside of releasingSlot { } in the body of AsyncBlockOperation.
/// ```
///
/// A cycle is found when its last wait begins. There are three cases:
///
/// 1. **Dependencies.** Operations depend on each other, and one of them is in a queue. All
///    operations of the cycle that are in a queue are cancelled, with this error as their
///    ``Operation/cancellationReason``.
/// 2. **A wait in running code.** The body of an operation begins a wait that would complete a
///    cycle, through dependencies, slots, barriers, claims, children of groups or other waits. An
///    `await` throws this error. A call that blocks the thread ends the process with the path. A
///    call that blocks the main thread also ends the process, if it waits for work that only the
///    main thread runs.
/// 3. **An operation that completes another cycle.** An operation is added to a queue whose slots
///    or barriers are part of a cycle, gets a dependency, or becomes a child. This operation alone
///    is cancelled, with this error as its reason. A claim that would complete a cycle is refused,
///    with this error as the reason.
///
/// An operation retains its dependencies, so the operations of a cycle of dependencies would keep
/// each other alive forever. When such a cycle is cancelled, the dependency that completes it is
/// removed from ``Operation/dependencies``. This dependency is the last one along ``path``. If
/// several cycles share operations, one dependency of each cycle is removed. If no operation of a
/// cycle is ever added to a queue, the cycle isn't found, and stays.
///
/// A wait that the program can end at any time doesn't complete a cycle. Examples are a limit of 0,
/// a suspended queue, and an override of `isReady` that returns false. A limit above 0 is treated
/// as permanent, so raise it before the wait that needs another slot. Otherwise each such wait, the
/// most common of all deadlocks of operations, would hang without a message. If lowering a limit
/// completes a cycle, one of its operations that hasn't started is cancelled.
public struct OperationCycleError: Error, Hashable, CustomStringConvertible {
  /// The labels of the operations along the cycle; the first label is also the last one.
  public var path: [OperationLabel]

  /// The operation whose body awaits while it holds a slot that another operation of the cycle needs.
  ///
  /// If the body awaits inside of ``releasingSlot(fileID:line:_:)``, there is no cycle. The label is nil if a
  /// released slot doesn't break the cycle.
  public var slotHolder: OperationLabel?

  package init(path: [OperationLabel]) { self.path = path }

  init(_ cycle: WaitSearch.Cycle) {
    path = cycle.labels
    slotHolder = cycle.slotHolder?.nameAndTag
  }

  /// A sentence that contains the path, and the remedies.
  public var description: String {
    "These operations wait for each other in a cycle, so none of them can run: "
      + path.map(\.name).joined(separator: " → ") + ". Remove one of these waits"
      + (slotHolder.map { ", or await inside of releasingSlot { } in the body of \($0.name)." }
        ?? ".")
  }
}
