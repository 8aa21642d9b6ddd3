#if os(Linux) || os(Android)
import Dispatch
import TestSupport
import Testing

@testable import CoreOperations

#if canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

// Other systems have no pool of this library.

/// A system that gives a process so many threads, and refuses more.
private final class SmallSystem: Sendable {
  private let left: Locked<Int>
  /// Opened when a thread is refused.
  let hasRefused = Latch()

  init(threads: Int) { left = Locked(threads) }

  func allow(_ count: Int) { left.withLock { $0 += count } }

  func launch(_ body: @escaping @Sendable () -> Void) -> Int32 {
    let isGiven = left.withLock { left in
      defer { if left > 0 { left -= 1 } }
      return left > 0
    }
    guard isGiven else {
      hasRefused.open()
      return EAGAIN
    }
    return DetachedThread.launch {
      body()
      self.allow(1)
    }
  }

  func queue(processors: Int) -> OperationQueue {
    OperationQueue(executor: ElasticThreadPool(coreCount: processors) { self.launch($0) })
  }
}

extension OperationQueue {
  /// Adds operations that block their threads until the gate is open.
  fileprivate func addOperations(_ count: Int, passing gate: Latch, _ ran: Tally) {
    for _ in 0..<count {
      addOperation {
        gate.pass()
        ran.add()
      }
    }
  }
}

@Suite(.watched) struct `Threads that the system refuses` {
  @Test func `existing threads run the work if the system refuses new threads`() async throws {
    let system = SmallSystem(threads: 4)
    let queue = system.queue(processors: 2)
    let gate = Latch()
    let ran = Tally()
    queue.addOperations(20, passing: gate, ran)
    await system.hasRefused.opened()
    gate.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 20)
  }

  @Test func `refused threads start later when the system allows them`() async throws {
    let system = SmallSystem(threads: 2)
    let queue = system.queue(processors: 1)
    let gate = Latch()
    // One thread for both, and one for the monitor.
    queue.addOperation(BlockOperation { gate.pass() })
    queue.addOperation(BlockOperation { gate.open() })
    await system.hasRefused.opened()
    system.allow(1)
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `waiting operations name the refused threads`() async throws {
    let system = SmallSystem(threads: 2)
    let queue = system.queue(processors: 1)
    queue.name = "uploads"
    let gate = Latch()
    queue.addOperation(BlockOperation { gate.pass() })
    let last = BlockOperation { gate.open() }
    last.name = "last"
    queue.addOperation(last)
    await system.hasRefused.opened()
    await eventually { queue.scheduler.source.isShortOfThreads }
    #expect(
      last.debugDescription
        == "last (ready): waits for a worker of queue “uploads”: the system refuses more threads"
    )
    system.allow(1)
    try await queue.untilAllOperationsAreFinished()
    #expect(!queue.scheduler.source.isShortOfThreads)
  }

  @Test func `the pool works even if the system refuses the monitor's thread`() async throws {
    let system = SmallSystem(threads: 1)
    let queue = system.queue(processors: 1)
    let gate = Latch()
    let ran = Tally()
    queue.addOperations(20, passing: gate, ran)
    await system.hasRefused.opened()
    gate.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 20)
  }

  @Test func `the process ends if the pool can't have any thread`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = SmallSystem(threads: 0).queue(processors: 1)
      queue.addOperation {}
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "The system refuses to start a thread (pthread_create returned \(EAGAIN)), and the thread "
        + "pool has none. Allow the process at least one more thread.",
      in: result
    )
  }

  @Test func `the pool retries a refused first thread`() async throws {
    let refusals = Tally()
    let pool = ElasticThreadPool(coreCount: 1) { body in
      refusals.add() < 3 ? EAGAIN : DetachedThread.launch(body)
    }
    let queue = OperationQueue(executor: pool)
    await onThread { queue.addOperation {} }
    try await queue.untilAllOperationsAreFinished()
    #expect(refusals.now == 4)
  }

  #if !SANITIZE_THREAD
  // ThreadSanitizer needs all addresses that there are.

  @Test func `a process without free addresses keeps running its operations`() async throws {
    await #expect(processExitsWith: .success) {
      let queue = OperationQueue()
      let gate = Latch()
      let ran = Tally()
      queue.addOperations(200, passing: gate, ran)
      limitAddresses(toMore: 400 << 20)
      while !ElasticThreadPool.shared.isShortOfThreads { await Task.yield() }
      gate.open()
      try await queue.untilAllOperationsAreFinished()
      #expect(ran.now == 200)
    }
  }
  #endif
}

/// Limits the addresses of the process to those that it uses, and some more bytes.
private func limitAddresses(toMore bytes: UInt) {
  let pages = FileSystem.text(of: "/proc/self/statm")?.split(separator: " ").first
  let used = pages.flatMap { UInt($0) }.map { $0 * UInt(sysconf(Int32(_SC_PAGESIZE))) } ?? 0
  var limit = rlimit(rlim_cur: .init(used + bytes), rlim_max: .init(used + bytes))
  #if canImport(Glibc)
  unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
  #else
  unsafe setrlimit(RLIMIT_AS, &limit)
  #endif
}
#endif
