import CoreOperations

/// Writes down when operations waited, were asked and executed, for pictures and for *what if*.
///
/// ```swift
/// let recorder = TimelineRecorder()
/// queue.addObserver(recorder)             // or operation.addObserver(recorder)
/// queue.addOperations(workflow)
/// try await queue.untilAllOperationsAreFinished()
/// print(recorder.svg)                     // a picture
/// print(recorder.chromeTrace)             // for ui.perfetto.dev
/// print(recorder.timeline.plan.schedule(workers: 8).duration)
/// ```
///
/// The times are those of the clock in each operation's environment. A recorder doesn't keep
/// operations alive, and keeps what it knows of them until it is released.
public final class TimelineRecorder: OperationObserver {
  private let state = Locked(TimelineState())

  /// Creates a recorder that has seen nothing.
  public init() {}

  /// What was recorded until now.
  ///
  /// - Complexity: O(n + e), n the number of operations and e that of their dependencies.
  public var timeline: OperationTimeline {
    let (records, now) = state.withLock { ($0.records, $0.lastTime) }
    let clocks = records.compactMap { $0.isOver ? nil : $0.reference.operation?.environment.clock }
    // Time may have passed since the last event if something is going on.
    let end = clocks.first.map { max(now, $0.now) } ?? now
    let operations = records.map { $0.isOver ? nil : $0.reference.operation }
    let details = operations.map { $0.map { self.details(of: $0) } }
    return OperationTimeline(
      spans: zip(records, details).map { record, details in record.span(details ?? record.details)
      },
      end: end
    )
  }

  /// The ``timeline`` in the format of Chrome's trace viewer, which `ui.perfetto.dev` opens.
  public var chromeTrace: String { timeline.chromeTrace }

  /// The ``timeline`` as a picture.
  public var svg: String { timeline.svg }

  // MARK: Events

  private func record(
    _ operation: AdvancedOperation,
    _ body: (inout TimelineRecord, _ now: Duration) -> Void
  ) {
    let now = operation.environment.clock.now
    let name = operation.label
    state.withLock { state in
      let place = state.place(of: operation) ?? state.add(operation)
      state.lastTime = max(state.lastTime, now)
      state.records[place].name = name
      body(&state.records[place], now)
    }
  }

  /// What has to be asked of the operation itself.
  private func details(of operation: AdvancedOperation) -> TimelineRecord.Details {
    let (times, group) = operation.withCore { core in
      (core.extra?.stateTimes ?? StateTimes(), core.extra?.group)
    }
    let dependencies = operation.dependencies
    let hasEnded = dependencies.map(\.isFinished)
    return state.withLock { state in
      let places = dependencies.map { dependency in
        (dependency as? AdvancedOperation).flatMap { state.place(of: $0) }
      }
      return TimelineRecord.Details(
        times: times,
        dependencies: places.compactMap { $0 },
        waitsForUnrecorded: zip(places, hasEnded).contains { $0 == nil && !$1 },
        group: group.flatMap { state.place(of: $0) }
      )
    }
  }

  /// Writes it down.
  public func operationDidEnqueue(_ operation: AdvancedOperation) {
    operation.withCore { _ = $0.makeExtra() }
    record(operation) { $0.enqueued = $0.enqueued ?? $1 }
  }

  /// Writes it down.
  public func operationDidStart(_ operation: AdvancedOperation) {
    record(operation) { $0.started = $0.started ?? $1 }
  }

  /// Writes it down.
  public func operation(
    _ operation: AdvancedOperation,
    willRetryAsAttempt attempt: Int,
    after delay: Duration,
    because error: any Error
  ) {
    record(operation) { $0.retries.append($1) }
  }

  /// Writes it down.
  public func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    record(operation) { $0.cancelled = $0.cancelled ?? $1 }
  }

  /// Writes it down.
  public func operationWillFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    record(operation) { $0.ended = $0.ended ?? $1 }
  }

  /// Writes it down.
  public func operationDidFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    let outcome = operation.outcome
    record(operation) { record, now in
      record.ended = record.ended ?? now
      record.outcome = outcome
    }
    let details = details(of: operation)
    record(operation) { record, _ in
      record.details = details
      record.isOver = true
    }
  }
}

private struct TimelineState {
  var records: [TimelineRecord] = []
  var places: [ObjectIdentifier: Int] = [:]
  var lastTime = Duration.zero

  init() {}

  /// The record of an operation that the caller keeps alive.
  ///
  /// The reference is nil when another operation was at the same address before, and otherwise not
  /// the last one, so that nothing is released here.
  func place(of operation: AdvancedOperation) -> Int? {
    guard let place = places[ObjectIdentifier(operation)],
      records[place].reference.operation === operation
    else { return nil }
    return place
  }

  mutating func add(_ operation: AdvancedOperation) -> Int {
    records.append(TimelineRecord(operation))
    places[ObjectIdentifier(operation)] = records.count - 1
    return records.count - 1
  }
}

private struct TimelineRecord {
  final class Reference: Sendable {
    weak let operation: AdvancedOperation?
    init(_ operation: AdvancedOperation) { self.operation = operation }
  }

  struct Details {
    var times = StateTimes()
    var dependencies: [Int] = []
    var waitsForUnrecorded = false
    var group: Int?
  }

  let reference: Reference
  var name = ""
  var enqueued: Duration?
  var started: Duration?
  var retries: [Duration] = []
  var cancelled: Duration?
  var ended: Duration?
  var outcome: OperationOutcome?
  var details = Details()
  var isOver = false

  init(_ operation: AdvancedOperation) { reference = Reference(operation) }

  func span(_ details: Details) -> OperationTimeline.Span {
    OperationTimeline.Span(
      name: name,
      enqueued: enqueued,
      evaluating: details.times[.evaluatingConditions],
      ready: details.times[.ready],
      started: started,
      retries: retries,
      cancelled: cancelled,
      ended: ended,
      outcome: outcome,
      dependencies: details.dependencies,
      group: details.group,
      waitsForUnrecorded: details.waitsForUnrecorded
    )
  }
}
