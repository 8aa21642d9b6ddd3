import Foundation
import Synchronization

/// Sees the end of the program that started this one: its end of this program's input is closed then,
/// also when it was killed.
final class ParentWatch: Sendable {
  private let action = Mutex<@Sendable () -> Void>({ exit(EXIT_SUCCESS) })

  /// Begins to watch.
  ///
  /// Until ``onEnd(_:)``, this program ends at once with its parent.
  init() {
    Thread.detachNewThread {
      while readLine() != nil {}
      self.action.withLock { $0 }()
    }
  }

  /// Has something else done at the end of the parent.
  func onEnd(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }
}
