import TestSupport

#if os(Linux) || os(Android)
import Testing

@testable import CoreOperations

// Other systems have no pool of this library.

private enum PoolTime { static let millisecond: Int64 = 1_000_000 }

/// What the thread pool decides, without a thread.
@Suite struct `The state of the thread pool as a value` {
  /// A pool whose threads are never launched.
  private final class Pool {
    var state: PoolState
    var time: Int64 = 0
    var blocked: Set<ObjectIdentifier> = []
    private let queues = (0..<100).map { _ in Tally() }

    init(cores: Int) { state = PoolState(coreCount: cores) }

    /// The worker of a queue requests a thread.
    func request(_ queue: Int) -> PoolState.Placement {
      state.requested(.worker(of: ObjectIdentifier(queues[queue])) {}, at: time)
    }

    func call() -> PoolState.Placement { state.requested(.call {}, at: time) }

    /// The next look of the monitor, a millisecond later.
    func look() -> PoolState.Look {
      time += PoolTime.millisecond
      let threads = state.threadsInTheWay
        .map { (thread: $0, isBlocked: blocked.contains(ObjectIdentifier($0))) }
      return state.looked(at: threads, time: time)
    }

    /// Looks so often that what waits now is neglected.
    func lookAtNeglected() -> [PoolState.Placement] {
      var placements: [PoolState.Placement] = []
      for _ in 0..<6 { placements += look().placements }
      return placements
    }

    /// The queue that a thread works for.
    func queue(of thread: PoolThread) -> Int? {
      queues.firstIndex { .queue(ObjectIdentifier($0)) == thread.origin }
    }
  }

  private func spawned(_ placement: PoolState.Placement) throws -> PoolThread {
    guard case .spawn(let thread) = placement else {
      throw Unexpected(what: "\(placement)")
    }
    return thread
  }

  private struct Unexpected: Error { let what: String }

  private func startsMonitor(_ placement: PoolState.Placement) -> Bool {
    if case .waiting(startMonitor: true) = placement { true } else { false }
  }

  private func queues(_ placements: [PoolState.Placement], in pool: Pool) throws -> [Int?] {
    try placements.map { pool.queue(of: try spawned($0)) }
  }

  @Test func `a queue without a thread gets one if all processors compute`() throws {
    let pool = Pool(cores: 2)
    for queue in 0..<2 { _ = try spawned(pool.request(queue)) }
    #expect(startsMonitor(pool.request(0)))
    _ = pool.request(2)
    _ = pool.request(3)
    #expect(try queues(pool.lookAtNeglected(), in: pool) == [2, 3])
    // The first one has one already, whatever it waits.
    #expect(try queues(pool.lookAtNeglected(), in: pool) == [])
  }

  @Test func `a queue waits some milliseconds for a processor before it is neglected`() throws {
    let pool = Pool(cores: 1)
    _ = try spawned(pool.request(0))
    _ = pool.request(1)
    for _ in 0..<3 { #expect(pool.look().placements.isEmpty) }
    #expect(try queues(pool.look().placements, in: pool) == [1])
  }

  @Test func `a slow monitor needs fewer checks`() throws {
    let pool = Pool(cores: 1)
    _ = try spawned(pool.request(0))
    _ = pool.request(1)
    pool.time += 10 * PoolTime.millisecond
    #expect(try queues(pool.look().placements, in: pool) == [1])
  }

  @Test func `at most 64 queues get a thread in addition to the processors`() throws {
    let pool = Pool(cores: 2)
    for queue in 0..<2 { _ = try spawned(pool.request(queue)) }
    for queue in 2..<100 { _ = pool.request(queue) }
    #expect(try queues(pool.lookAtNeglected(), in: pool) == Array(2..<66))
  }

  @Test func `a queue whose only thread is blocked counts as having none`() throws {
    let pool = Pool(cores: 1)
    _ = try spawned(pool.request(0))
    _ = pool.request(1)
    let placements = pool.lookAtNeglected()
    let second = try spawned(try #require(placements.first))
    _ = pool.request(1)
    #expect(pool.lookAtNeglected().isEmpty)
    pool.blocked = [ObjectIdentifier(second)]
    #expect(try queues(pool.lookAtNeglected(), in: pool) == [1])
  }

  @Test func `closures that aren't workers share one additional thread`() throws {
    let pool = Pool(cores: 1)
    _ = try spawned(pool.request(0))
    for _ in 0..<3 { _ = pool.call() }
    let origins = try pool.lookAtNeglected().map { try spawned($0).origin }
    #expect(origins == [.calls])
  }

  @Test func `requests of any kind get threads in order`() throws {
    let pool = Pool(cores: 1)
    let thread = try spawned(pool.request(0))
    _ = pool.request(1)
    _ = pool.call()
    _ = pool.request(2)
    var origins: [PoolRequest.Origin] = []
    while case .work = pool.state.returned(thread, at: pool.time) { origins.append(thread.origin) }
    #expect(origins.count == 3)
    #expect(origins[1] == .calls)
    #expect(pool.queue(of: thread) == 2)
  }

  @Test func `a blocked thread is replaced until it has nothing to do`() throws {
    let pool = Pool(cores: 1)
    let first = try spawned(pool.request(0))
    #expect(startsMonitor(pool.request(0)))
    pool.blocked = [ObjectIdentifier(first)]
    let second = try spawned(try #require(pool.look().placements.first))
    _ = pool.request(0)
    guard case .work = pool.state.returned(second, at: pool.time) else {
      throw Unexpected(what: "one thread was too many")
    }
    _ = pool.request(0)
    // Two threads, and no room for both.
    pool.blocked = []
    #expect(pool.look().placements.isEmpty)
    guard case .sleep = pool.state.returned(first, at: pool.time) else {
      throw Unexpected(what: "both threads worked on")
    }
  }

  @Test func `the monitor ends if nothing waits`() throws {
    let pool = Pool(cores: 1)
    let first = try spawned(pool.request(0))
    #expect(startsMonitor(pool.request(0)))
    pool.blocked = [ObjectIdentifier(first)]
    _ = try spawned(try #require(pool.look().placements.first))
    // Both stay busy from here on, and only one is blocked.
    #expect(pool.state.threadsInTheWay.isEmpty)
    while !pool.look().isLast { #expect(pool.state.threadsInTheWay.isEmpty) }
    #expect(startsMonitor(pool.request(0)))
  }

  // MARK: What the system refuses

  @Test func `a request whose thread is refused returns to the front`() throws {
    let pool = Pool(cores: 2)
    let first = try spawned(pool.request(0))
    let second = try spawned(pool.request(1))
    guard case .goOn(nil, startMonitor: true) = pool.state.refused(second, at: pool.time) else {
      throw Unexpected(what: "a refused thread")
    }
    #expect(pool.state.isRefused)
    #expect(!startsMonitor(pool.request(2)))
    guard case .work(startMonitor: false) = pool.state.returned(first, at: pool.time) else {
      throw Unexpected(what: "a thread that returned")
    }
    #expect(pool.queue(of: first) == 1)
  }

  @Test func `the pool requests a thread again after ten checks`() throws {
    let pool = Pool(cores: 2)
    _ = try spawned(pool.request(0))
    _ = pool.state.refused(try spawned(pool.request(1)), at: pool.time)
    for _ in 1..<PoolState.looksUntilRetry { #expect(pool.look().placements.isEmpty) }
    let placements = pool.look().placements
    let thread = try spawned(try #require(placements.first))
    #expect(placements.count == 1)
    #expect(pool.state.isRefused)
    // One at a time, until it gives one.
    _ = pool.request(2)
    #expect(pool.look().placements.isEmpty)
    pool.state.launched()
    #expect(!pool.state.isRefused)
    pool.blocked = [ObjectIdentifier(thread)]
    #expect(try queues(pool.look().placements, in: pool) == [2])
  }

  @Test func `a pool without any thread retries the refused one`() throws {
    let pool = Pool(cores: 2)
    let first = try spawned(pool.request(0))
    guard case .tryAgain = pool.state.refused(first, at: pool.time) else {
      throw Unexpected(what: "the only thread")
    }
  }

  @Test func `an idle thread takes over a refused thread's request`() throws {
    let pool = Pool(cores: 2)
    let first = try spawned(pool.request(0))
    let second = try spawned(pool.request(1))
    _ = pool.state.returned(first, at: pool.time)
    guard case .goOn(let woken, startMonitor: false) = pool.state.refused(second, at: pool.time)
    else { throw Unexpected(what: "a refused thread") }
    #expect(woken === first)
    #expect(pool.queue(of: first) == 1)
  }

  @Test func `a refused monitor is requested again with the next request or end`()
    throws
  {
    let pool = Pool(cores: 1)
    let thread = try spawned(pool.request(0))
    #expect(startsMonitor(pool.request(1)))
    pool.state.monitorRefused()
    #expect(startsMonitor(pool.request(2)))
    #expect(!startsMonitor(pool.request(3)))
    pool.state.monitorRefused()
    guard case .work(startMonitor: true) = pool.state.returned(thread, at: pool.time) else {
      throw Unexpected(what: "a thread that returned")
    }
  }

  @Test func `the last thread stays after the system has refused one`() throws {
    let pool = Pool(cores: 2)
    let first = try spawned(pool.request(0))
    let second = try spawned(pool.request(1))
    _ = pool.request(2)
    pool.blocked = [ObjectIdentifier(first)]
    let third = try spawned(try #require(pool.look().placements.first))
    _ = pool.state.refused(third, at: pool.time)
    for thread in [first, second] {
      while case .work = pool.state.returned(thread, at: pool.time) {}
    }
    guard case .leave = pool.state.rested(first), case .sleepOn = pool.state.rested(second) else {
      throw Unexpected(what: "no thread is left")
    }
  }
}

/// When a thread counts as blocked.
@Suite struct `Checks of a thread` {
  private final class Looked {
    var looks = ThreadLooks()
    private var time: Int64 = 0
    private var computed: Int64 = 0

    private(set) var questions = 0

    /// A look after a millisecond, of which the thread has computed some microseconds.
    func look(computing microseconds: Int64, isAsleep: Bool) -> Bool {
      time += PoolTime.millisecond
      computed += microseconds * 1_000
      return looks.looked(processorTime: computed, at: time, isAsleep: answer(isAsleep))
    }

    private func answer(_ isAsleep: Bool) -> Bool {
      questions += 1
      return isAsleep
    }
  }

  private let thread = Looked()

  @Test func `a sleeping thread counts as blocked from the second check`() {
    #expect(!thread.look(computing: 0, isAsleep: true))
    #expect(thread.look(computing: 0, isAsleep: true))
  }

  @Test func `a thread that repeatedly wakes and sleeps counts as blocked`() {
    _ = thread.look(computing: 0, isAsleep: true)
    #expect(thread.look(computing: 60, isAsleep: true))
    #expect(thread.look(computing: 99, isAsleep: true))
  }

  @Test func `a thread that computes a tenth of the time isn't blocked`() {
    _ = thread.look(computing: 0, isAsleep: true)
    #expect(!thread.look(computing: 100, isAsleep: true))
    #expect(!thread.look(computing: 1_000, isAsleep: true))
  }

  @Test func `a thread that waits for a processor isn't blocked`() {
    _ = thread.look(computing: 0, isAsleep: false)
    #expect(!thread.look(computing: 0, isAsleep: false))
  }

  @Test func `the pool doesn't query the kernel again about a thread without a processor`() {
    _ = thread.look(computing: 0, isAsleep: false)
    for _ in 0..<20 { #expect(!thread.look(computing: 0, isAsleep: false)) }
    #expect(thread.questions == 1)
    // It has got one, and sleeps.
    #expect(thread.look(computing: 20, isAsleep: true))
  }

  @Test func `the pool queries the kernel at each fourth check about a sleeping thread`() {
    _ = thread.look(computing: 0, isAsleep: true)
    for _ in 0..<8 { #expect(thread.look(computing: 0, isAsleep: true)) }
    #expect(thread.questions == 2)
    // It is woken, and waits for a processor.
    let verdicts = (0..<4).map { _ in thread.look(computing: 0, isAsleep: false) }
    #expect(verdicts.contains(false))
    #expect(!thread.look(computing: 0, isAsleep: false))
  }

  @Test func `a thread that was idle since the last check isn't blocked`() {
    _ = thread.look(computing: 0, isAsleep: true)
    thread.looks.wasIdle()
    #expect(!thread.look(computing: 0, isAsleep: true))
    #expect(thread.look(computing: 0, isAsleep: true))
  }
}

@Suite struct `A waiter queue in an array` {
  @Test func `an array queue inserts at the front and removes from the middle`() {
    var line = FirstInFirstOut<Int>()
    for element in 1...4 { line.append(element) }
    line.prepend(0)
    #expect(line.remove(at: 2) == 2)
    #expect(line.popFirst() == 0)
    line.prepend(9)
    var rest: [Int] = []
    while let element = line.popFirst() { rest.append(element) }
    #expect(rest == [9, 1, 3, 4])
  }
}
#endif
