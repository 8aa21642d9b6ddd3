/// Operations that wait for each other in a ring, so that none of them could ever go on.
///
/// ```swift
/// // One slot, which the first one holds while it waits for the second.
/// queue.maxConcurrentOperationCount = 1
/// queue.addOperation {
///   queue.addOperation(second)
///   do { try await second.untilFinished() } catch { caught("\(error)") }
/// }
/// // These operations wait for each other in a ring, so none could go on:
/// // AsyncBlockOperation → BlockOperation → AsyncBlockOperation. Remove one of these waits.
/// ```
///
/// - The `cancellationReason` of every operation of a ring of dependencies that is in a queue.
/// - Thrown by a wait that the body of an operation begins and that would close a ring: with
///   dependencies, slots, claims, children of groups and other such waits. A wait that blocks its thread
///   traps.
/// - The `cancellationReason` of one that closes such a ring later, because it is added to a queue whose
///   slots or barriers are in it, gets a dependency or becomes a child; or the reason for which a claim of
///   the ring is refused.
///
/// An operation retains what it depends on, so those of a ring of dependencies would keep each
/// other alive for ever. When such a ring is cancelled, the dependency that closes it, the last one
/// along ``path``, is removed from `dependencies`; where rings share operations, one for each way
/// around. Rings of which no operation ever is in a queue aren't cancelled, and stay.
///
/// What people may change at any time is no part of a ring: a limit of 0, a suspension, an override of
/// `isReady` that says false. A limit that is lowered so far that a ring arises cancels nobody either,
/// and is named by `waitCauses`.
public struct OperationCycleError: Error, Hashable, CustomStringConvertible {
  /// The names along the ring; the last is the first again.
  public var path: [String]

  /// Creates the error.
  ///
  /// - Parameter path: The names along the ring; the last is the first again.
  public init(path: [String]) { self.path = path }

  /// One sentence with the path.
  public var description: String {
    "These operations wait for each other in a ring, so none could go on: "
      + path.joined(separator: " → ") + ". Remove one of these waits."
  }
}
