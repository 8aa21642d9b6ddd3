/// The last events of many, each with its number: a plain value.
package struct EventLog<Event> {
  /// What there is at a position.
  package enum Reading {
    case event(Event)
    /// So many are not kept any more.
    case missing(Int)
    case nothingYet
    /// There will be nothing more.
    case end
  }

  private let capacity: Int
  private var events: [Event] = []
  /// How many were appended in all.
  private var count = 0
  private var isClosed = false

  package init(capacity: Int) { self.capacity = capacity }

  /// Appends an event, unless the log was closed.
  ///
  /// - Returns: What is not kept any more, for the caller to release.
  /// - Complexity: O(1), amortised.
  package mutating func append(_ event: Event) -> Event? {
    if isClosed { return event }
    defer { count += 1 }
    if events.count < capacity {
      events.append(event)
      return nil
    }
    defer { events[count % capacity] = event }
    return events[count % capacity]
  }

  /// Nothing more will come.
  package mutating func close() { isClosed = true }

  /// What there is at a position; 0 is the first event ever.
  package func read(at position: Int) -> Reading {
    let first = count - events.count
    if position < first { return .missing(first - position) }
    if position < count { return .event(events[position % capacity]) }
    return isClosed ? .end : .nothingYet
  }
}
