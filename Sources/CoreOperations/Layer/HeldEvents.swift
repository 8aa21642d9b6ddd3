/// The operations that a thread cancels together: it marks all of them, and then tells of one after
/// the other.
///
/// Code of the program that is called meanwhile may wait for an operation whose turn has not come,
/// so the thread does the rest before it blocks.
package final class HeldEvents {
  private static let current = ThreadLocal<HeldEvents>()

  private var unmarked: [Operation]
  private var untold: [Operation]
  private let mark: (Operation) -> Void
  private let tell: (Operation) -> Void
  private let outer = HeldEvents.current.value

  private init(
    _ operations: [Operation],
    _ mark: @escaping (Operation) -> Void,
    _ tell: @escaping (Operation) -> Void
  ) {
    unmarked = operations.reversed()
    untold = unmarked
    self.mark = mark
    self.tell = tell
  }

  /// Cancels operations.
  ///
  /// - Parameters:
  ///   - operations: The operations.
  ///   - mark: Cancels one, and holds its events.
  ///   - tell: Tells the events of one; called once all are marked.
  package static func cancel(
    _ operations: [Operation],
    marking mark: (Operation) -> Void,
    thenTelling tell: (Operation) -> Void
  ) {
    withoutActuallyEscaping(mark) { mark in
      withoutActuallyEscaping(tell) { tell in
        let events = HeldEvents(operations, mark, tell)
        current.value = events
        events.doRest()
        current.value = events.outer
      }
    }
  }

  private func doRest() {
    while let next = unmarked.popLast() { mark(next) }
    while let next = untold.popLast() { tell(next) }
  }

  /// This thread is about to block.
  static func tellAll() {
    var next = current.value
    while let events = next {
      events.doRest()
      next = events.outer
    }
  }
}
