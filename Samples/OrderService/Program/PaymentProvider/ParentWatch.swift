import Foundation
import Synchronization

/// Sees the end of the program that started this one: its end of this program's input is closed then,
/// also when it was killed.
final class ParentWatch: Sendable {
  private struct Answer {
    var call: @Sendable () -> Void = { exit(EXIT_SUCCESS) }
  }

  private let answer = Mutex(Answer())

  /// Begins to watch.
  ///
  /// Until ``onEnd(_:)``, this program ends at once with its parent.
  init() {
    Thread.detachNewThread {
      while readLine() != nil {}
      self.answer.withLock { $0.call }()
    }
  }

  /// Has something else done at the end of the parent.
  func onEnd(_ action: @escaping @Sendable () -> Void) { answer.withLock { $0.call = action } }
}
