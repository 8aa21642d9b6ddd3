import CoreOperations
import Synchronization

/// All advanced queues that exist, for a watchdog that says why nothing goes on.
///
/// Nothing is kept before it is asked for the first time.
package enum LiveQueues {
  private static let isRecording = Atomic(false)
  private static let queues = WeakNotes<AdvancedOperationQueue, Void>()

  /// Keeps account of the queues that are made from now on, without keeping them alive.
  package static func record() { isRecording.store(true, ordering: .relaxed) }

  static func add(_ queue: AdvancedOperationQueue) {
    // What a step of a simulation does must not depend on the other queues of the process.
    if isRecording.load(ordering: .relaxed) { uninterrupted { queues.change(queue, from: ()) } }
  }

  /// Those that have something to do, and say why it isn't done.
  package static var explanations: [OperationExplanation] {
    queues.objects.filter { $0.operationCount > 0 }.map { $0.explain() }
  }
}
