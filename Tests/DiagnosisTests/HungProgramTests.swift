import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Dispatch
import TestSupport
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// A process that hangs, and sends itself the signal on which it reports.
private struct HungProgram {
  private let ends: [Int32]
  private let signal: Int32

  /// To be called before the process creates its queues.
  init(signal: Int32 = SIGUSR1) {
    ends = Self.makePipe()
    self.signal = signal
    OperationDiagnostics.reportOn(signal: signal, to: ends[1])
  }

  static func makePipe() -> [Int32] {
    var ends: [Int32] = [0, 0]
    let error = unsafe pipe(&ends)
    #expect(error == 0)
    return ends
  }

  /// Sends the signal, and reads the report.
  func report() async -> String {
    let (readEnd, signal) = (ends[0], signal)
    return await Threads.run {
      kill(getpid(), signal)
      return Self.text(from: readEnd)
    }
  }

  /// One text that was written in one call.
  static func text(from readEnd: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe read(readEnd, &bytes, bytes.count)
    return String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
  }

  /// Expects that the first three lines name a cause, and that the process goes on.
  ///
  /// The program may not hang yet when the first report is made.
  func expectCause(
    _ cause: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    var text = ""
    for _ in 0..<20_000 {
      text = await report()
      let lines = text.split(separator: "\n").prefix(3)
      if lines.contains(where: { $0.contains(cause) }) { break }
      await Task.yield()
    }
    let isFirst = text.split(separator: "\n").prefix(3).contains { $0.contains(cause) }
    #expect(isFirst, "\(text)", sourceLocation: sourceLocation)
    let work = ResultOperation { 1 }
    AdvancedOperationQueue().addOperation(work)
    #expect(try await work.value == 1, sourceLocation: sourceLocation)
  }
}

/// Never returns, even if its task is cancelled.
private func hang() async {
  await unsafe withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
}

private func makeQueue(_ name: String = "main") -> AdvancedOperationQueue {
  AdvancedOperationQueue(name: name)
}

/// An operation whose name isn't returned before a gate is open.
private final class Nameless: BlockOperation, @unchecked Sendable {
  static let gate = Latch()
  override var name: String? {
    get {
      Self.gate.pass()
      return "nameless"
    }
    set {}
  }
}

/// Each test is a process of its own.
@Suite(.watched) struct `A report of a process that hangs` {
  @Test func `a report names the holder of a claim that is never released`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let begun = Latch()
      let holder = ResultOperation(name: "holder") {
        begun.open()
        await hang()
      }
      let waiting = (1...9).map { ResultOperation(name: "waiting \($0)") {} }
      for operation in [holder] + waiting { operation.addClaim(MutuallyExclusive("db")) }
      let queue = makeQueue()
      queue.addOperation(holder)
      await begun.opened()
      queue.addOperations(waiting)
      try await program.expectCause("holder (in queue “main”) has been executing for")
      #expect(await program.report().contains("waiting 9 waits for “db”, which holder holds"))
    }
  }

  @Test func `a report names a body that awaits itself by way of another queue`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let other = makeQueue("other")
      let inner = ResultOperation(name: "inner") {}
      let outer = ResultOperation(name: "outer") {
        await withCheckedContinuation { continuation in
          inner.onFinish { _, _ in continuation.resume() }
        }
      }
      inner.addDependency(outer)
      makeQueue().addOperation(outer)
      other.addOperation(inner)
      try await program.expectCause("outer (in queue “main”) has been executing for")
      #expect(await program.report().contains(" (1 waits: inner)"))
    }
  }

  @Test func `a report names a suspended queue`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let queue = makeQueue()
      queue.isSuspended = true
      queue.addOperations((1...3).map { ResultOperation(name: "\($0)") {} })
      try await program.expectCause(
        "3 operations (1, 2, 3): each waits for queue “main” to be resumed"
      )
    }
  }

  @Test func `a report names a condition that never answers`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let work = ResultOperation(name: "work") {}
      work.addCondition(
        BlockCondition("online") {
          await hang()
          return true
        }
      )
      makeQueue().addOperation(work)
      try await program.expectCause(
        "work (in queue “main”) waits for the answer of condition “online”"
      )
    }
  }

  @Test func `a report names an operation that waits for a circuit to close`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(100_000))
      let queue = makeQueue()
      let first = ResultOperation<Void>(name: "first") { throw Flaw(1) }
      first.addObserver(breaker)
      queue.addOperation(first)
      _ = try? await first.value
      let call = ResultOperation<Void>(
        name: "call",
        retry: .constant(.seconds(100_000)).attempts(3)
      ) {
        if breaker.state == .open { throw CircuitClosed.Open(remaining: nil) }
      }
      queue.addOperation(call)
      OperationDiagnostics.showsErrors = true
      try await program.expectCause("call (in queue “main”) waits: attempt 1 failed (")
      #expect(await program.report().contains("circuit"))
    }
  }

  @Test func `a report names the holders of all units of a pool`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let pool = ResourcePool("connections", capacity: 2)
      let queue = makeQueue()
      let begun = Countdown(2)
      let holders = (1...2).map { number in
        ResultOperation(name: "holder \(number)") {
          begun.count()
          await hang()
        }
      }
      let query = ResultOperation(name: "query") {}
      for operation in holders + [query] { operation.addClaim(ResourceUnits(1, of: pool)) }
      queue.addOperations(holders)
      await begun.done.opened()
      queue.addOperation(query)
      try await program.expectCause(
        "query waits for 1 of “connections” (0 of 2 free), which holder"
      )
    }
  }

  @Test(.needsThreadPool("The threads of the pool are blocked."))
  func `a report is created while all threads of the pool are blocked`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let queue = makeQueue()
      let count = Effort.isOrdinary ? 32 : 512
      let (gate, begun) = (Latch(), Countdown(count))
      for _ in 0..<count {
        queue.addOperation {
          begun.count()
          gate.pass()
        }
      }
      await begun.done.opened()
      let text = await program.report()
      #expect(text.hasPrefix("\(count) operations in 1 queue\n"))
      let isExecuting = text.split(separator: "\n")[1].hasSuffix("is executing")
      #expect(isExecuting, "\(text)")
      gate.open()
      try await queue.untilAllOperationsAreFinished()
    }
  }

  @Test func `a report names a body that ignores its cancel`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let begun = Latch()
      let work = ResultOperation(name: "deaf") {
        begun.open()
        await hang()
      }
      makeQueue().addOperation(work)
      await begun.opened()
      work.cancel()
      try await program.expectCause("needed: deaf has to finish (its async body ignores the cancel")
    }
  }

  @Test func `a report names the child of a group that ignores its cancel`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let begun = Latch()
      let group = GroupOperation(name: "group") {
        ResultOperation(name: "child") {
          begun.open()
          await hang()
        }
      }
      makeQueue().addOperation(group)
      await begun.opened()
      group.cancel()
      try await program.expectCause("child (in queue “main”) has been executing for")
      #expect(await program.report().contains(" (1 waits: group)"))
    }
  }

  @Test func `a report names a rate that permits no start for a long time`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let calls = (1...2).map { ResultOperation(name: "call \($0)") {} }
      for call in calls { call.addClaim(RateLimit("api", 1, per: .seconds(100_000))) }
      makeQueue().addOperations(calls)
      try await program.expectCause("waits for “api”, which lets the next start in")
    }
  }

  @Test func `a report names an operation that waits for its next attempt`() async {
    await #expect(processExitsWith: .success) {
      let program = HungProgram()
      let call = ResultOperation<Void>(
        name: "call",
        retry: .constant(.seconds(100_000)).attempts(3)
      ) { throw Flaw(1) }
      makeQueue().addOperation(call)
      try await program.expectCause(
        "call (in queue “main”) waits: attempt 1 failed; tries again in"
      )
    }
  }

  @Test func `the report of a test is written if its code blocks all threads of tasks`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let ends = HungProgram.makePipe()
      let standardError = dup2(ends[1], 2)
      #expect(standardError == 2)
      Threads.launch {
        var text = ""
        while !text.contains("\ncauses: ") { text += HungProgram.text(from: ends[0]) }
        exit(text.contains("The code hasn't ended after 20 ms.\n1 operation in 1 queue") ? 7 : 8)
      }
      try await expectEnd(within: .milliseconds(20), patience: 0.01) {
        let queue = makeQueue()
        queue.isSuspended = true
        queue.addOperation(ResultOperation(name: "import") {})
        let never = Latch()
        for _ in 0..<512 { Task { never.pass() } }
        never.pass()
      }
    }
  }

  @Test func `a name that doesn't return delays the report, and not the answer`() async {
    await #expect(processExitsWith: .success) {
      let ends = HungProgram.makePipe()
      OperationDiagnostics.startRecording()
      let queue = makeQueue()
      queue.isSuspended = true
      queue.addOperation(Nameless())
      let (readEnd, writeEnd) = (ends[0], ends[1])
      let first = await Threads.run {
        OperationDiagnostics.answer(to: writeEnd, patience: 0.01)
        return HungProgram.text(from: readEnd)
      }
      #expect(first.hasPrefix("The report isn't ready after 0.01 s."))
      #expect(first.hasSuffix("Operations: 1 in queue “main”\n"))
      // A second call waits for the same report.
      let repeated = await Threads.run {
        OperationDiagnostics.answer(to: writeEnd, patience: 0.01)
        return HungProgram.text(from: readEnd)
      }
      #expect(repeated == first)
      Nameless.gate.open()
      let second = await Threads.run { HungProgram.text(from: readEnd) }
      #expect(second.contains("nameless waits for queue “main” to be resumed"))
    }
  }
}

@Suite(.watched) struct `Reports on signals` {
  @Test func `without queues, a report says which queues are missing`() async {
    await #expect(processExitsWith: .success) {
      #expect(
        OperationDiagnostics.report
          == "No queue is recorded. Call OperationDiagnostics.startRecording() at the beginning of the "
          + "program, before it creates queues."
      )
      let early = makeQueue("early")
      early.isSuspended = true
      early.addOperation {}
      OperationDiagnostics.startRecording()
      #expect(
        OperationDiagnostics.report
          == "0 operations in 0 queues; queues that were created before the recording began aren't counted"
      )
      let late = makeQueue("late")
      late.isSuspended = true
      late.addOperation {}
      #expect(OperationDiagnostics.report.hasPrefix("1 operation in 1 queue\n"))
    }
  }

  @Test func `several signals have reports, and the last descriptor of a signal is used`() async {
    await #expect(processExitsWith: .success) {
      let first = HungProgram()
      let (second, third) = (HungProgram(), HungProgram(signal: SIGUSR2))
      #expect(await second.report().hasPrefix("0 operations"))
      #expect(await third.report().hasPrefix("0 operations"))
      withExtendedLifetime(first) {}
    }
  }

  @Test func `a report to a pipe without a reader leaves the process alive`() async {
    await #expect(processExitsWith: .success) {
      let ends = HungProgram.makePipe()
      close(ends[0])
      OperationDiagnostics.reportOn(signal: SIGUSR1, to: ends[1])
      kill(getpid(), SIGUSR1)
      // A later report shows that the first one was written.
      #expect(await HungProgram(signal: SIGUSR2).report().hasPrefix("0 operations"))
    }
  }

  private static var pipeEnds: Set<Int32> {
    Set(
      (0..<256).filter { descriptor in
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
      }
    )
  }

  private static func isBlocked(_ signal: Int32) -> Bool {
    var mask = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
    return unsafe sigismember(&mask, signal) == 1
  }

  @Test func `reports block no signal, and no child process inherits their pipe`() async {
    await #expect(processExitsWith: .success) {
      // The threads of tasks may block signals, and there is no `await` between both looks.
      let (before, wasBlocked) = (Self.pipeEnds, Self.isBlocked(SIGUSR1))
      OperationDiagnostics.reportOn(signal: SIGUSR1)
      let new = Self.pipeEnds.subtracting(before)
      #expect(new.count == 2)
      #expect(new.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
      #expect(Self.isBlocked(SIGUSR1) == wasBlocked)
    }
  }

  @Test(arguments: [SIGKILL, SIGSEGV, SIGINT, SIGPIPE, 4_711])
  func `a signal that ends a process or has another use is refused`(signal: Int32) async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [signal] in
      OperationDiagnostics.reportOn(signal: signal)
    }
    try expectMessage(
      "reportOn(signal:to:) was called with the signal \(signal), which",
      in: result
    )
  }
}

@Suite(.watched) struct `A watch of all queues` {
  @Test func `a watch logs a cause that lasts for too long, until it is removed`() async {
    await #expect(processExitsWith: .success) {
      let logged = Latch()
      let text = Locked("")
      let watch = OperationDiagnostics.watch(every: .milliseconds(1), stuckAfter: .milliseconds(2))
      {
        line in
        text.withLock { $0 = line }
        logged.open()
      }
      let queue = makeQueue()
      queue.isSuspended = true
      queue.addOperation(ResultOperation(name: "work") {})
      await logged.opened()
      watch.remove()
      let lines = text.withLock { $0 }.split(separator: "\n")
      #expect(lines.count == 3 && lines[0] == "stuck for 2 ms or longer:")
      #expect(lines[1].hasPrefix("  work waits for queue “main” to be resumed, for at least "))
      #expect(lines[2] == "needed: queue “main” has to be resumed")
    }
  }

  @Test func `a watch logs that a name doesn't return, and its check goes on afterwards`() async {
    await #expect(processExitsWith: .success) {
      let texts = Locked([String]())
      let (isLate, isStuck) = (Latch(), Latch())
      let watch = OperationDiagnostics.startWatch(
        every: .milliseconds(1),
        stuckAfter: .milliseconds(2),
        patience: 0.01
      ) { text in
        texts.withLock { $0.append(text) }
        (text.hasPrefix("stuck") ? isStuck : isLate).open()
      }
      let queue = makeQueue()
      queue.isSuspended = true
      queue.addOperation(Nameless())
      await isLate.opened()
      Nameless.gate.open()
      await isStuck.opened()
      watch.remove()
      let all = texts.withLock { $0 }
      #expect(
        all.contains { text in
          text.hasPrefix("A check for stuck operations hasn't ended after 0.01 s.")
            && text.hasSuffix("Operations: 1 in queue “main”")
        }
      )
      #expect(all.contains { $0.contains("nameless waits for queue “main” to be resumed") })
    }
  }

  @Test(arguments: [0, -1])
  func `a watch refuses a duration that isn't positive`(seconds: Int) async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [seconds] in
      OperationDiagnostics.watch(every: .seconds(seconds)) { _ in }
    }
    try expectMessage("watch(every:stuckAfter:log:) was called with the durations", in: result)
  }
}
