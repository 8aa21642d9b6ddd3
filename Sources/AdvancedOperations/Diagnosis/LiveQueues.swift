import CoreOperations
import Synchronization

/// All advanced queues that exist, for a watchdog that says why nothing goes on.
///
/// Nothing is kept before it is asked for the first time.
package enum LiveQueues {
  private final class Reference: Sendable {
    weak let queue: AdvancedOperationQueue?
    init(_ queue: AdvancedOperationQueue) { self.queue = queue }
  }

  private struct State {
    var references: [Reference] = []
    var limit = 64
  }

  private static let isRecording = Atomic(false)
  private static let state = Locked(State())

  /// Keeps account of the queues that are made from now on, without keeping them alive.
  package static func record() { isRecording.store(true, ordering: .relaxed) }

  static func add(_ queue: AdvancedOperationQueue) {
    // What a step of a simulation does must not depend on the other queues of the process.
    if isRecording.load(ordering: .relaxed) { uninterrupted { record(queue) } }
  }

  private static func record(_ queue: AdvancedOperationQueue) {
    let reference = Reference(queue)
    // The queues are looked at outside of the lock: the last reference to one may go.
    let old = state.withLock { state in
      state.references.append(reference)
      return state.references.count > state.limit ? state.references : []
    }
    if old.isEmpty { return }
    let gone = Set(old.filter { $0.queue == nil }.map { ObjectIdentifier($0) })
    state.withLock { state in
      state.references.removeAll { gone.contains(ObjectIdentifier($0)) }
      state.limit = max(64, 2 * state.references.count)
    }
  }

  /// Those that have something to do, and say why it isn't done.
  package static var explanations: [OperationExplanation] {
    let references = state.withLock { $0.references }
    return references.compactMap { $0.queue }.filter { $0.operationCount > 0 }.map { $0.explain() }
  }
}
