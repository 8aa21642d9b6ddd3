/// What is to be told about one operation, in order; one thread at a time does the telling.
///
/// A plain value behind the operation's lock. A thread that adds an item while no thread delivers,
/// delivers until the line is empty; otherwise the thread that delivers takes it along. So items
/// never overlap, and a call from inside a callback never nests.
package struct EventLine {
  /// What is to be told.
  ///
  /// One word: what carries more is boxed, because each item is copied several times, and those of
  /// every operation carry nothing (12 retains per operation before, by callgrind).
  package enum Item {
    case enqueued
    /// Whether it starts is decided when this is taken; the body follows.
    case started
    case produced(AdvancedOperation)
    indirect case progress(OperationProgressUpdate)
    indirect case retrying(attempt: Int, after: Duration, because: any Error)
    indirect case cancelled([any Error], callsHook: Bool)
    /// The end was decided before the children were started: they leave, and will-finish follows.
    case leave
    /// Did-finish follows, behind what is produced meanwhile.
    case willFinish
    case didFinish
    /// Did-finish for one who came late.
    indirect case lateFinish(any OperationObserver, [any Error])
  }

  /// Mostly there is no second one, and so no array: three of them per operation before, by
  /// callgrind.
  private var first: Item?
  private var others: [Item] = []
  /// The delivery on the same thread that this one is made in.
  private(set) var outer = Delivery.none
  /// The first of the others that isn't taken.
  private var next: Int32 = 0
  private(set) var isDelivering = false
  /// How many sweeps over many operations go on; they may overlap.
  private var sweepCount: UInt16 = 0
  /// Whether telling has to wait until they are through.
  var isHeldForSweep: Bool { sweepCount > 0 }

  var isEmpty: Bool { first == nil }
  /// Whether there is something that may be told now.
  var isDue: Bool { !isEmpty && !isHeldForSweep }

  package init() {}

  package mutating func append(_ item: Item) {
    if isEmpty { first = item } else { others.append(item) }
  }

  /// A sweep has come to the operation; ``sweepEnded()`` follows.
  mutating func sweepBegan() { sweepCount += 1 }

  /// A sweep is through.
  mutating func sweepEnded() { sweepCount -= 1 }

  /// Makes the caller the thread that delivers, if there is something and no thread does.
  mutating func beginDelivery(inside outer: Delivery) -> Bool {
    guard !isDelivering, isDue else { return false }
    isDelivering = true
    self.outer = outer
    return true
  }

  /// Makes the caller the thread that delivers, of what isn't in the line because it has no
  /// observers.
  ///
  /// - Returns: Whether there is nothing in the line, and no thread delivers.
  mutating func beginAlone(inside outer: Delivery) -> Bool {
    guard !isDelivering, !isHeldForSweep, isEmpty else { return false }
    isDelivering = true
    self.outer = outer
    return true
  }

  /// What was announced has not come about: takes it out of a line that was held since.
  package mutating func removeProduced(_ operation: AdvancedOperation) {
    let items = ([first].compactMap { $0 } + others[Int(next)...]).filter { item in
      if case .produced(operation) = item { false } else { true }
    }
    first = items.first
    others = Array(items.dropFirst())
    next = 0
  }

  /// The caller has told everything.
  mutating func endDelivery() {
    isDelivering = false
    outer = .none
  }

  /// The next item; nil ends the delivery.
  ///
  /// What was taken is not kept, so that no object of the program is released under the lock.
  package mutating func nextItem() -> Item? {
    guard isDue else {
      endDelivery()
      return nil
    }
    return takeFirst()
  }

  private mutating func takeFirst() -> Item? {
    let item = first.take()
    if Int(next) < others.count {
      first = others[Int(next)]
      others[Int(next)] = .started
      next += 1
      if Int(next) == others.count {
        others = []
        next = 0
      }
    }
    return item
  }
}
