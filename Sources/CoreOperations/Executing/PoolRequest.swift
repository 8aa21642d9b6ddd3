#if os(Linux) || os(Android)
/// What a thread of the pool has to run.
@safe enum PoolRequest: Sendable {
  /// A worker of a queue, which the address of its scheduler stands for.
  case worker(of: ObjectIdentifier, @Sendable () -> Void)
  /// Another closure: a completion block, or the end of a timer.
  case call(@Sendable () -> Void)
  /// A part of a task, and the executor that the task prefers.
  case job(UnownedJob, UnownedTaskExecutor)

  /// Whose work a request is.
  enum Origin: Hashable {
    case queue(ObjectIdentifier)
    /// All closures that are no workers.
    case calls
    /// The tasks of all queues: a job doesn't say which queue its task belongs to.
    case tasks
  }

  var origin: Origin {
    switch self {
    case .worker(let queue, _): .queue(queue)
    case .call: .calls
    case .job: .tasks
    }
  }
}

/// The requests of a pool that wait for a thread, in their order.
struct PoolLine {
  private struct Entry {
    let request: PoolRequest
    let ticket: UInt64
    /// When the monitor looked last before the request arrived, in nanoseconds.
    let time: Int64
  }

  /// After so many nanoseconds a request is neglected, if no thread does anything for its origin.
  static let patience: Int64 = 4_000_000

  // Apart, so that a search for a queue that is neglected passes no jobs, of which there may be a
  // hundred thousand: of the queues in front of it, each has a thread.
  private var workers = FirstInFirstOut<Entry>()
  private var calls = FirstInFirstOut<Entry>()
  private var jobs = FirstInFirstOut<Entry>()
  private var lastTicket: UInt64 = 0

  var isEmpty: Bool { workers.isEmpty && calls.isEmpty && jobs.isEmpty }

  mutating func append(_ request: PoolRequest, at time: Int64) {
    lastTicket += 1
    let entry = Entry(request: request, ticket: lastTicket, time: time)
    switch request {
    case .worker: workers.append(entry)
    case .call: calls.append(entry)
    case .job: jobs.append(entry)
    }
  }

  /// Puts a request back in front of all others.
  mutating func putBack(_ request: PoolRequest, at time: Int64) {
    let entry = Entry(request: request, ticket: 0, time: time)
    switch request {
    case .worker: workers.prepend(entry)
    case .call: calls.prepend(entry)
    case .job: jobs.prepend(entry)
    }
  }

  mutating func popFirst() -> PoolRequest? {
    // Mostly, requests of one kind wait.
    if calls.isEmpty {
      if workers.isEmpty { return jobs.popFirst()?.request }
      if jobs.isEmpty { return workers.popFirst()?.request }
    }
    let (worker, call, job) = (Self.ticket(workers), Self.ticket(calls), Self.ticket(jobs))
    if worker <= call && worker <= job { return workers.popFirst()?.request }
    return (call <= job ? calls.popFirst() : jobs.popFirst())?.request
  }

  private static func ticket(_ line: FirstInFirstOut<Entry>) -> UInt64 {
    line.isEmpty ? .max : line[0].ticket
  }

  /// Takes the first request that has waited for some time without a thread for its origin.
  ///
  /// - Parameters:
  ///   - time: The time of the look.
  ///   - served: The origins that have a thread which isn't blocked.
  /// - Returns: The request; nil if there is none.
  /// - Complexity: O(*n*), where *n* is the number of threads.
  mutating func takeNeglected(
    at time: Int64,
    besides served: Set<PoolRequest.Origin>
  ) -> PoolRequest? {
    if !served.contains(.calls), Self.isOld(calls, at: time) { return calls.popFirst()?.request }
    if !served.contains(.tasks), Self.isOld(jobs, at: time) { return jobs.popFirst()?.request }
    var index = 0
    while index < workers.count, Self.isOld(workers, index, at: time) {
      if !served.contains(workers[index].request.origin) {
        return workers.remove(at: index)?.request
      }
      index += 1
    }
    return nil
  }

  /// Whether a request has waited so long that it may be neglected.
  func hasOld(at time: Int64) -> Bool {
    Self.isOld(workers, at: time) || Self.isOld(calls, at: time) || Self.isOld(jobs, at: time)
  }

  private static func isOld(
    _ line: FirstInFirstOut<Entry>,
    _ index: Int = 0,
    at time: Int64
  ) -> Bool { index < line.count && time - line[index].time >= patience }
}
#endif
