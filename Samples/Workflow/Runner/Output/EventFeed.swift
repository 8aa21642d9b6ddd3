/// In which order the events of a run and the lines of its steps are passed on: a plain value.
///
/// Events come in the order in which they happened, with these exceptions.
///
/// - What happens to a step when its command has ended comes after all lines of the command,
///   however long it takes to show them. Until then what else happens to the step is held.
/// - So is the start of a step, and its end, until the ends of all that it needs were passed on.
/// - What undoes a step, and the end of the run, come after all that happened before.
///
/// Nothing else waits for what is held. Logs are read in turns, a piece of each. Lines aren't kept:
/// they are read when it is their turn, so that what is held are a few events for each step.
struct EventFeed {
  /// Something that happens to a step, or to the run.
  enum Item: Sendable {
    case event(RunEvent)
    /// An attempt writes to a log from a place on; said again, it is nothing new.
    case logOpens(step: Int, path: String, from: Int)
    /// The attempt has ended: that is all of its log.
    case logCloses(step: Int, at: Int, time: Duration)
  }

  enum Action {
    /// Report an event.
    case pass(RunEvent)
    /// Get ready to read a log.
    case open(step: Int, path: String, from: Int)
    /// Report the lines of a piece, and then call ``didRead(_:hasMore:)``; without an end the
    /// attempt goes on.
    case read(step: Int, end: Int?, time: Duration?)
    /// Nothing can be passed on for now.
    case none
  }

  private enum Log {
    /// Exit: `opened`.
    case none
    /// Exit: `closed`.
    case opened
    /// Exit: `none`.
    case closed(at: Int, time: Duration)
  }

  private struct Entry {
    let item: Item
    let number: Int
  }

  private struct Lane {
    var held = Fifo<Entry>()
    var log = Log.none
    /// Whether the log stands in ``turns``.
    var hasTurn = false
    /// How many of the ends that it has to wait for weren't passed on.
    var openNeeds = 0
    var dependents: [Int] = []

    /// Whether its attempt has ended, and lines of it are to come.
    var isBehind: Bool { if case .closed = log { true } else { false } }
  }

  private let places: [String: Int]
  private var lanes: [Lane]
  private var arrived = Fifo<Entry>()
  private var count = 0
  /// The steps of which something is held or behind.
  private var blocked: Set<Int> = []
  /// The steps of which something that was held may be passed on.
  private var released = Fifo<Int>()
  /// The steps whose next item waits for all that happened before.
  private var barriers: Set<Int> = []
  private var end: Entry?
  private var gatesAreOpen = false
  /// The steps whose attempts go on.
  private var reading: Set<Int> = []
  private var turns = Fifo<Int>()

  /// - Parameters:
  ///   - steps: Their names.
  ///   - needs: For each of them, the places of those whose ends come before its start.
  init(_ steps: [String], needs: [[Int]]) {
    places = Dictionary(steps.enumerated().map { ($1, $0) }) { first, _ in first }
    lanes = steps.map { _ in Lane() }
    for (step, needs) in needs.enumerated() {
      for need in Set(needs) where need != step {
        lanes[step].openNeeds += 1
        lanes[need].dependents.append(step)
      }
    }
  }

  // MARK: Events

  /// Something has happened.
  mutating func happened(_ item: Item) {
    arrived.append(Entry(item: item, number: count))
    count += 1
  }

  /// It is time to look for new lines of the attempts that go on.
  mutating func looks() { for step in reading.sorted() { takesTurn(step) } }

  /// Whether there are attempts whose lines have to be looked for.
  var isReading: Bool { !reading.isEmpty }

  /// A piece of a log was reported.
  mutating func didRead(_ step: Int, hasMore: Bool) {
    if hasMore { return takesTurn(step) }
    guard lanes[step].isBehind else { return }
    lanes[step].log = .none
    isReleased(step)
  }

  // MARK: What is next

  /// What is to be done next.
  mutating func next() -> Action {
    while true {
      if let step = released.first {
        if let action = nextHeld(of: step) { return action }
        _ = released.popFirst()
      } else if let entry = arrived.popFirst() {
        if let action = arrives(entry) { return action }
      } else if let step = nextBarrier() {
        barriers.remove(step)
        released.append(step)
      } else if let event = lastEvent() {
        return .pass(event)
      } else if let step = turns.popFirst() {
        lanes[step].hasTurn = false
        if let action = reads(step) { return action }
      } else if !opensGates() {
        return .none
      }
    }
  }

  /// Nothing comes any more, so that nothing waits for what didn't come.
  private mutating func opensGates() -> Bool {
    guard end != nil, !gatesAreOpen else { return false }
    gatesAreOpen = true
    for step in blocked.sorted() { isReleased(step) }
    return true
  }

  /// The next item of a step that was held, if it may be passed on.
  private mutating func nextHeld(of step: Int) -> Action? {
    while let entry = lanes[step].held.first, canPass(entry, step) {
      _ = lanes[step].held.popFirst()
      if let action = passes(entry.item, step) { return action }
    }
    if lanes[step].held.isEmpty, !lanes[step].isBehind { blocked.remove(step) }
    return nil
  }

  private mutating func arrives(_ entry: Entry) -> Action? {
    guard let step = step(of: entry.item) else {
      guard case .event(let event) = entry.item else { return nil }
      guard case .runEnded = event.kind else { return .pass(event) }
      end = entry
      return nil
    }
    if lanes[step].held.isEmpty, canPass(entry, step) { return passes(entry.item, step) }
    lanes[step].held.append(entry)
    blocked.insert(step)
    return nil
  }

  private func step(of item: Item) -> Int? {
    switch item {
    case .logOpens(let step, _, _), .logCloses(let step, _, _): step
    case .event(let event): event.kind.step.flatMap { places[$0] }
    }
  }

  private mutating func canPass(_ entry: Entry, _ step: Int) -> Bool {
    if lanes[step].isBehind { return false }
    guard case .event(let event) = entry.item else { return true }
    switch event.kind {
    case .started, .ended: return gatesAreOpen || lanes[step].openNeeds == 0
    case .rollingBack:
      if isFirst(entry, of: step) { return true }
      barriers.insert(step)
      return false
    default: return true
    }
  }

  /// Whether everything was passed on that had happened before.
  private func isFirst(_ entry: Entry, of step: Int?) -> Bool {
    blocked.allSatisfy { other in
      if other == step { return true }
      if lanes[other].isBehind { return false }
      return lanes[other].held.first.map { $0.number > entry.number } ?? true
    }
  }

  private func nextBarrier() -> Int? {
    barriers.first { step in
      lanes[step].held.first.map { isFirst($0, of: step) } ?? true
    }
  }

  private mutating func lastEvent() -> RunEvent? {
    guard let entry = end, blocked.isEmpty, case .event(let event) = entry.item else { return nil }
    end = nil
    return event
  }

  private mutating func passes(_ item: Item, _ step: Int) -> Action? {
    switch item {
    case .event(let event):
      if case .ended = event.kind { ends(step) }
      return .pass(event)
    case .logOpens(_, let path, let offset):
      guard case .none = lanes[step].log else { return nil }
      lanes[step].log = .opened
      reading.insert(step)
      return .open(step: step, path: path, from: offset)
    case .logCloses(_, let end, let time):
      guard case .opened = lanes[step].log else { return nil }
      lanes[step].log = .closed(at: end, time: time)
      reading.remove(step)
      blocked.insert(step)
      // At once, because most have printed little.
      return .read(step: step, end: end, time: time)
    }
  }

  private mutating func ends(_ step: Int) {
    for dependent in lanes[step].dependents {
      lanes[dependent].openNeeds -= 1
      if lanes[dependent].openNeeds == 0, blocked.contains(dependent) { isReleased(dependent) }
    }
    lanes[step].dependents = []
  }

  private mutating func isReleased(_ step: Int) { released.append(step) }

  private mutating func takesTurn(_ step: Int) {
    if lanes[step].hasTurn { return }
    lanes[step].hasTurn = true
    turns.append(step)
  }

  private func reads(_ step: Int) -> Action? {
    switch lanes[step].log {
    case .none: nil
    case .opened: .read(step: step, end: nil, time: nil)
    case .closed(let end, let time): .read(step: step, end: end, time: time)
    }
  }
}
