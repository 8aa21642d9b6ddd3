public import AdvancedOperations
import CoreOperations

/// An observer that records when operations waited, evaluated conditions and executed.
///
/// ```swift
/// let recorder = TimelineRecorder()
/// queue.addObserver(recorder)             // or operation.addObserver(recorder)
/// queue.addOperations(workflow)
/// try await queue.untilAllOperationsAreFinished()
/// print(recorder.timeline.svg())          // a picture
/// print(recorder.timeline.chromeTrace())  // for ui.perfetto.dev
/// print(recorder.timeline.plan.schedule(workers: 8).duration)
/// ```
///
/// The recorder switches on the recording of times in each operation that it observes, when a queue takes
/// the operation. Without a recorder, an operation doesn't keep these times.
///
/// Operations that aren't an `AdvancedOperation`, such as a `BlockOperation`, have no observers, so the
/// timeline doesn't contain them. The recorder sees the end of such an operation if an observed operation
/// depends on it. The picture shows the number of these dependencies.
///
/// The clock in each operation's environment measures the times. A recorder doesn't keep operations alive. A
/// recorder has no limit: it keeps a record of each operation, and the time of each failed attempt, until it
/// is released.
public final class TimelineRecorder: OperationObserver {
  private let state = Locked(TimelineState())

  /// Creates a recorder without operations.
  public init() {}

  deinit { for watch in state.withLock({ $0.takeWatches() }) { watch.remove() } }

  /// The times that were recorded until now.
  ///
  /// - Complexity: O(n + e), n the number of operations and e the number of their dependencies.
  public var timeline: OperationTimeline {
    let (records, now, unrecordedCount) = state.withLock { state in
      (state.records, state.lastTime, state.unrecordedCount)
    }
    let open = records.map { $0.isOver ? nil : $0.reference.object }
    // Time may have passed since the last event of an unfinished operation.
    let clock = open.lazy.compactMap { $0?.environment.clock }.first
    let end = clock.map { max(now, $0.now) } ?? now
    let spans = zip(records, open).map { record, operation in
      var span = record.span
      if let operation { details(of: operation, among: records.count)(&span) }
      return span
    }
    return OperationTimeline(spans: spans, end: end, unrecordedCount: unrecordedCount)
  }

  // MARK: Events

  private func record(
    _ operation: AdvancedOperation,
    isOver: Bool = false,
    _ body: (inout OperationTimeline.Span, _ now: Duration) -> Void
  ) {
    let now = operation.environment.clock.now
    let (name, tag) = (operation.label, operation.tag)
    state.withLock { state in
      let place = state.place(of: operation) ?? state.add(operation)
      state.lastTime = max(state.lastTime, now)
      state.records[place].span.name = name
      state.records[place].span.tag = tag
      if isOver { state.records[place].isOver = true }
      body(&state.records[place].span, now)
    }
  }

  /// Reads values that only the operation itself has, to write them into its span.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - count: The number of operations in the timeline; operations that were recorded in the meantime are
  ///     ignored.
  /// - Returns: A closure that writes the values into a span.
  private func details(
    of operation: AdvancedOperation,
    among count: Int = .max
  ) -> (inout OperationTimeline.Span) -> Void {
    let times = operation.recordedTimes
    let dependencies = operation.dependencies
    let hasEnded = dependencies.map(\.isFinished)
    let (places, unrecordedEnd, groupPlace) = state.withLock { state in
      let places = dependencies.map { dependency in
        (dependency as? AdvancedOperation).flatMap { state.place(of: $0, among: count) }
      }
      let ends = zip(dependencies, places).compactMap { $1 == nil ? state.end(of: $0) : nil }
      return (places, ends.max(), times.group.flatMap { state.place(of: $0, among: count) })
    }
    let (hasStarted, attempt) = (operation.hasStarted, operation.attempt)
    let waitReason = operation.waitReason
    return { span in
      span.waitReason = waitReason
      // An operation that only takes the value of another operation passes through the state, too.
      span.evaluationStarted = times.hasConditions || times.isJournaled ? times.evaluating : nil
      span.asksOnlyJournal = times.isJournaled && !times.hasConditions
      span.ready = times.ready
      if hasStarted { span.begunAtLatest(at: times.executing) }
      if span.outcome != nil { span.endedInAttempt(attempt) }
      span.dependencies = places.compactMap { $0 }
      span.waitsForUnrecorded = zip(places, hasEnded).contains { $0 == nil && !$1 }
      span.unrecordedEnd = unrecordedEnd
      span.group = groupPlace
      span.claims = times.claims
    }
  }

  /// Records when a queue took the operation, and switches on its recording of times.
  public func operationDidEnqueue(_ operation: AdvancedOperation) {
    operation.recordTimes()
    record(operation) { $0.enqueued = $0.enqueued ?? $1 }
    watchUnrecorded(operation.dependencies, operation.environment.clock)
  }

  /// Records the end of dependencies that have no events, such as plain operations.
  private func watchUnrecorded(_ dependencies: [Operation], _ clock: OperationClock) {
    // Read without the lock, because a subclass may override isFinished.
    let open = dependencies.filter { !$0.isFinished }
    let watched = state.withLock { state in open.filter { state.watchIfUnrecorded($0) } }
    for dependency in watched {
      let watch = dependency.watchEnd { [weak self] dependency in
        let now = clock.now
        self?.state.withLock { $0.ended(dependency, at: now) }
      }
      state.withLock { $0.watched(dependency, watch) }
    }
  }

  /// Records when the operation started.
  public func operationDidStart(_ operation: AdvancedOperation) {
    record(operation) { $0.started = $0.started ?? $1 }
  }

  /// Records when an attempt failed, if another attempt follows.
  public func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) {
    record(operation) { $0.willRetry(asAttempt: retry.nextAttempt, at: $1) }
  }

  /// Records when the operation was cancelled.
  public func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    record(operation) { $0.cancelled = $0.cancelled ?? $1 }
  }

  /// Records when the end of the operation was decided.
  public func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    record(operation) { $0.ended = $0.ended ?? $1 }
  }

  /// Records the outcome of the operation.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    record(operation) { span, now in
      span.ended = span.ended ?? now
      span.outcome = outcome
    }
    let details = details(of: operation)
    record(operation, isOver: true) { span, _ in details(&span) }
  }
}

private struct TimelineState {
  var records: [TimelineRecord] = []
  var places: [ObjectIdentifier: Int] = [:]
  /// The dependencies that weren't recorded when the recorder first saw them.
  private var unrecorded: [ObjectIdentifier: Unrecorded] = [:]
  var lastTime = Duration.zero
  var unrecordedCount: Int { unrecorded.count }

  /// Returns the number of the record of an operation that the caller keeps alive.
  ///
  /// The reference is nil if another operation had the same address before. Otherwise it isn't the last
  /// reference, so that nothing is released here.
  func place(of operation: AdvancedOperation, among count: Int = .max) -> Int? {
    guard let place = places[ObjectIdentifier(operation)], place < count,
      records[place].reference.object === operation
    else { return nil }
    return place
  }

  mutating func add(_ operation: AdvancedOperation) -> Int {
    records.append(TimelineRecord(operation))
    places[ObjectIdentifier(operation)] = records.count - 1
    // The operation may have been seen as a dependency before.
    if entry(of: operation) != nil { unrecorded[ObjectIdentifier(operation)] = nil }
    return records.count - 1
  }

  /// Returns whether the end has to be watched: the dependency isn't recorded, and is new.
  mutating func watchIfUnrecorded(_ dependency: Operation) -> Bool {
    if let advanced = dependency as? AdvancedOperation, place(of: advanced) != nil { return false }
    if entry(of: dependency) != nil { return false }
    unrecorded[ObjectIdentifier(dependency)] = Unrecorded(reference: WeakReference(dependency))
    return true
  }

  /// Stores the watch of a dependency, unless the dependency has ended in the meantime.
  mutating func watched(_ dependency: Operation, _ watch: EndWatch) {
    if entry(of: dependency)?.end != nil { return }
    unrecorded[ObjectIdentifier(dependency)]?.watch = watch
  }

  mutating func ended(_ dependency: Operation, at time: Duration) {
    unrecorded[ObjectIdentifier(dependency)]?.end = time
    unrecorded[ObjectIdentifier(dependency)]?.watch = nil
  }

  /// Removes and returns the watches of dependencies that have not ended.
  mutating func takeWatches() -> [EndWatch] {
    defer { unrecorded = [:] }
    return unrecorded.values.compactMap(\.watch)
  }

  /// Returns the time at which an unrecorded dependency ended; nil if its end was not seen.
  func end(of dependency: Operation) -> Duration? { entry(of: dependency)?.end }

  /// Returns the entry of a dependency that the caller keeps alive.
  private func entry(of dependency: Operation) -> Unrecorded? {
    guard let entry = unrecorded[ObjectIdentifier(dependency)],
      entry.reference.object === dependency
    else { return nil }
    return entry
  }
}

/// A dependency whose events the recorder doesn't receive.
private struct Unrecorded {
  let reference: WeakReference<Operation>
  var end: Duration?
  /// The watch of the dependency's end; nil after the end.
  var watch: EndWatch?
}

private struct TimelineRecord {
  let reference: WeakReference<AdvancedOperation>
  var span = OperationTimeline.Span(name: "", dependencies: [])
  /// Whether the values that only the operation has are final.
  var isOver = false

  init(_ operation: AdvancedOperation) { reference = WeakReference(operation) }
}
