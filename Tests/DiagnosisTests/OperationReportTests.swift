import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@testable import AdvancedOperations

@Suite(.watched) struct `A report of several queues` {
  private static func report(of queues: OperationQueue..., showsErrors: Bool = false) -> String {
    OperationReport(of: queues, showsErrors: showsErrors).text
  }

  private let hint =
    "its async body may be waiting for a timer, a stream, a continuation or a lock"

  @Test func `a report begins with the root cause and its path, then has counts, then lists`() {
    let world = World()
    world.queue.name = "orders"
    let backups = world.makeQueue()
    backups.name = "backups"
    let reachable = ConditionProbe(name: "Reachable")
    let backup = Work("backup")
    backup.addCondition(reachable)
    let migrate = ResultOperation(name: "migrate") { try await backup.untilFinished() }
    let stores = (1...5).map { Work("store \($0)") }
    let database = ResourcePool("db", capacity: 4, domain: world.simulation.environment.claimDomain)
    for operation in [migrate] + stores {
      operation.addClaim(ResourceUnits(4, of: database))
    }
    backups.addOperation(backup)
    world.run(migrate)
    world.queue.addOperations(stores)
    world.simulation.advance(by: .seconds(90))
    #expect(
      Self.report(of: world.queue, backups) == """
        7 operations in 2 queues
          backup (in queue “backups”) waits for the answer of condition “Reachable” for 1 min 30 s \
        (6 wait: migrate, store 1, store 2, store 3 and 2 more)
            store 5 waits for 4 of “db” (0 of 4 free), which migrate holds
            migrate has code that waits for backup
        needed: condition “Reachable” of backup has to answer
        causes: 5 claim, 1 awaiting, 1 condition
        queue “orders”: 6 operations
          migrate has code that waits for backup
          5 operations (store 1, store 2, store 3, store 4 and 1 more): each waits for 4 of “db” \
        (0 of 4 free), which migrate holds
        queue “backups” (limit 1): 1 operation
          backup waits for the answer of condition “Reachable” for 1 min 30 s
        """
    )
    reachable.answer(.satisfied)
    world.simulation.run()
  }

  @Test func `a report begins with the cause that keeps most operations from running`() {
    let world = World()
    world.queue.name = "main"
    let idle = (1...20).map { world.taking(100, "idle \($0)") }
    let source = world.taking(100, "source")
    var chain: [Operation] = [source]
    for number in 1...9 {
      let next = Work("step \(number)")
      next.addDependency(chain[number - 1])
      chain.append(next)
    }
    world.queue.addOperations(idle + chain)
    world.simulation.advance(by: .seconds(5))
    let lines = Self.report(of: world.queue).split(separator: "\n")
    #expect(
      lines.prefix(9) == [
        "30 operations in 1 queue",
        "  source (in queue “main”) has been executing for 5 s (9 wait: step 1, step 2, step 3, step 4 and 5 more)",
        "    step 9 waits for step 8", "    step 8 waits for step 7", "    … 5 more …",
        "    step 2 waits for step 1", "    step 1 waits for source",
        "  idle 1 (in queue “main”) has been executing for 5 s",
        "  idle 2 (in queue “main”) has been executing for 5 s",
      ]
    )
    #expect(lines.contains("  … and 15 more root causes"))
    world.simulation.run()
  }

  @Test func `a report about thousands of operations has few lines, and counts all of them`() {
    let world = World(limit: 2)
    world.queue.name = "main"
    let holders = (1...2).map { world.taking(100, "holder \($0)") }
    let waiting = (1...4_000).map { Work("\($0)") }
    world.queue.addOperations(holders + waiting)
    world.queue.addBarrierBlock {}
    world.queue.addOperations((1...4_000).map { Work("late \($0)") })
    world.simulation.advance(by: .seconds(5))
    let text = Self.report(of: world.queue)
    #expect(text.hasPrefix("8002 operations in 1 queue\n"))
    #expect(text.contains("causes: 4000 barrier, 4000 limit, 2 executing\n"))
    #expect(
      text.contains(
        "holder 1 (in queue “main”) has been executing for 5 s (8000 wait: 1, 2, 3, 4 and"
      )
    )
    #expect(
      text.contains("holder 2 (in queue “main”) has been executing for 5 s (the same 8000 wait)\n")
    )
    #expect(text.split(separator: "\n").count < 20)
    #expect(text.utf8.count < 4_000)
    world.simulation.run()
  }

  @Test func `children are in the queue of their group, once`() {
    let world = World()
    world.queue.name = "main"
    let group = GroupOperation(name: "group") { world.taking(10, "child") }
    world.queue.addOperation(group)
    world.simulation.advance(by: .seconds(5))
    let inner = child(of: group)
    #expect(
      Self.report(of: world.queue, inner) == """
        2 operations in 1 queue
          child (in queue “main”) has been executing for 5 s (1 waits: group)
            group waits for its children child
        needed: child has to finish (\(hint))
        causes: 1 children, 1 executing
        queue “main”: 2 operations
          child has been executing for 5 s
          group waits for its children child
        """
    )
    world.simulation.run()
  }

  private func child(of group: GroupOperation) -> OperationQueue {
    group.members.withLock { $0.queue } ?? OperationQueue()
  }

  private final class Impatient: ResultOperation<Void>, @unchecked Sendable {
    override var cancellationPolicy: CancellationPolicy { .finishImmediately }
  }

  private struct Secret: Error, CustomStringConvertible {
    var description: String { "token 4711" }
  }

  @Test func `texts of errors are shown only if they are wanted`() {
    let world = World()
    world.queue.name = "main"
    let fetch = ResultOperation<Void>(
      name: "fetch",
      retry: .constant(.seconds(60)).attempts(3)
    ) { throw Secret() }
    world.queue.addOperation(fetch)
    world.simulation.advance(by: .seconds(20))
    let report = Self.report(of: world.queue)
    #expect(
      report.contains("fetch (in queue “main”) waits: attempt 1 failed; tries again in 40 s\n")
    )
    #expect(!report.contains("4711"))
    #expect(Self.report(of: world.queue, showsErrors: true).contains("4711"))
    world.simulation.run()
  }

  @Test func `a report hides the error of a finished operation whose body runs`() {
    let world = World()
    world.queue.name = "main"
    let work = Work.open("deaf")
    let body = Impatient(name: "body") {
      await withCheckedContinuation { continuation in
        work.onFinish { _, _ in continuation.resume() }
      }
    }
    world.queue.addOperations([work, body])
    world.simulation.run()
    body.cancel(withError: Secret())
    world.simulation.run()
    let report = Self.report(of: world.queue)
    #expect(
      report.contains(
        "body (in queue “main”) has finished: cancelled; its body keeps running"
      )
    )
    #expect(!report.contains("4711"))
    #expect(Self.report(of: world.queue, showsErrors: true).contains("4711"))
    work.finish()
    world.simulation.run()
  }

  @Test
  func `a watch reports a cause once per doubling, whatever number of operations wait for it`() {
    let world = World()
    world.queue.isSuspended = true
    world.queue.addOperations((1...100).map { Work("\($0)") })
    world.simulation.run()
    var stuck = StuckCauses(limit: .seconds(60))
    let texts = (0...64).compactMap { minute -> String? in
      OperationReport(of: [world.queue], showsErrors: false)
        .text(ofDue: &stuck, at: .seconds(60 * minute))
    }
    #expect(texts.count == 7)
    #expect(
      texts.last == """
        stuck for 1 min or longer:
          100 operations (1, 2, 3, 4 and 96 more): each waits for queue “AdvancedOperationQueue” \
        to be resumed, for at least 1 h 4 min
        needed: queue “AdvancedOperationQueue” has to be resumed
        """
    )
    world.queue.isSuspended = false
    world.simulation.run()
  }

  @Test func `a hang comes before many short waits, and the oldest causes are always shown`() {
    let world = World()
    let busy = AdvancedOperationQueue(name: "busy", environment: world.simulation.environment)
    world.queue.name = "main"
    let lost = world.taking(10_000, "lost")
    world.queue.addOperation(lost)
    world.simulation.advance(by: .seconds(300))
    // Twenty requests, for each of which twenty operations wait. Together, they have waited for longer.
    let requests = (1...20).map { world.taking(40, "request \($0)") }
    busy.addOperations(requests)
    for request in requests {
      let waiting = (1...20).map { Work("\(request.name ?? "") \($0)") }
      for operation in waiting { operation.addDependency(request) }
      busy.addOperations(waiting)
    }
    world.simulation.advance(by: .seconds(1))
    let early = Self.report(of: world.queue, busy).split(separator: "\n")
    #expect(early[1] == "  lost (in queue “main”) has been executing for 5 min 1 s")
    world.simulation.advance(by: .seconds(29))
    let late = Self.report(of: world.queue, busy).split(separator: "\n")
    #expect(late[1].hasPrefix("  request 1 (in queue “busy”) has been executing for 30 s (20 wait"))
    #expect(late.prefix(12).contains("  lost (in queue “main”) has been executing for 5 min 30 s"))
    world.simulation.run()
  }

  @Test func `operations that wait for a thread come after the operations that keep the threads`() {
    let world = World()
    world.queue.name = "main"
    let work = world.taking(10, "work")
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(5))
    world.queue.addOperations((1...50).map { Work("\($0)") })
    let lines = Self.report(of: world.queue).split(separator: "\n")
    #expect(lines[1] == "  work (in queue “main”) has been executing for 5 s")
    #expect(lines[2].hasSuffix("each waits for a worker of queue “main”"))
    world.simulation.run()
  }

  @Test func `an operation that has finished, and only notifies others, is no root cause`() {
    let world = World()
    let text = Locked("")
    let work = Work("work")
    let after = Work("after")
    after.addDependency(work)
    work.addObserver(
      BlockObserver(didFinish: { _, _ in text.withLock { $0 = Self.report(of: world.queue) } })
    )
    world.run(work, after)
    #expect(!text.withLock { $0 }.contains("has finished"))
  }

  @Test func `operations that wait for one rate are one cause, whatever their times are`() {
    let world = World()
    world.queue.name = "main"
    let calls = (1...4).map { Work("call \($0)") }
    for call in calls { call.addClaim(RateLimit("api", 1, per: .seconds(10))) }
    world.queue.addOperations(calls)
    world.simulation.advance(by: .seconds(1))
    let lines = Self.report(of: world.queue).split(separator: "\n")
    #expect(lines[1].hasPrefix("  3 operations (call 2 (in queue “main”)"), "\(lines)")
    #expect(!lines.contains { $0.contains("root cause") })
    world.simulation.run()
  }

  @Test func `a name adds no line, doesn't control a terminal, and doesn't fill a log`() {
    let world = World()
    world.queue.isSuspended = true
    world.queue.addOperation(Work("a\nneeded: nothing\u{1B}[2J"))
    world.queue.addOperation(Work(String(repeating: "long ", count: 100_000)))
    let text = Self.report(of: world.queue)
    #expect(text.contains("a\\nneeded: nothing\\u{1B}[2J"))
    #expect(!text.contains("\u{1B}"))
    #expect(text.utf8.count < 4_000)
    world.queue.isSuspended = false
    world.simulation.run()
  }

  @Test func `a watch reports no delay that ends at a known time`() {
    let world = World()
    let clock = world.simulation.environment.clock
    let (delay, stuck) = (DelayOperation(.seconds(7_200)), world.taking(7_200, "stuck"))
    let retry = ResultOperation<Void>(
      name: "retry",
      retry: .constant(.seconds(7_200)).attempts(2)
    ) { throw Secret() }
    world.queue.addOperations([delay, stuck, retry])
    world.simulation.advance(by: .seconds(3_600))
    var causes = StuckCauses(limit: .seconds(60))
    let text = OperationReport(of: [world.queue], showsErrors: false)
      .text(ofDue: &causes, at: clock.now)
    #expect(text?.contains("stuck (in") == true)
    #expect(text?.contains("delay") == false && text?.contains("retry") == false, "\(text ?? "")")
    world.simulation.run()
  }

  @Test func `a watch measures an attempt, and not the attempts and delays before`() {
    let world = World()
    let clock = world.simulation.environment.clock
    let upload = ResultOperation<Void>(
      name: "upload",
      retry: .constant(.seconds(300)).attempts(10)
    ) {
      try await clock.sleep(for: .seconds(20))
      throw Secret()
    }
    world.queue.addOperation(upload)
    var causes = StuckCauses(limit: .seconds(60))
    for _ in 0..<250 {
      world.simulation.advance(by: .seconds(10))
      let report = OperationReport(of: [world.queue], showsErrors: false)
      #expect(report.text(ofDue: &causes, at: clock.now) == nil)
    }
    world.simulation.run()
  }

  @Test(arguments: [false, true])
  func `a completion block that doesn't return is a root cause`(isPlain: Bool) async {
    let queue = AdvancedOperationQueue(name: "main")
    let (begun, goOn) = (Latch(), Latch())
    let work: Operation = isPlain ? BlockOperation {} : ResultOperation {}
    work.name = "work"
    work.completionBlock = {
      begun.open()
      goOn.pass()
    }
    queue.addOperation(work)
    await begun.opened()
    let lines = Self.report(of: queue).split(separator: "\n")
    #expect(lines.count == 5 && lines[0] == "1 operation in 1 queue", "\(lines)")
    #expect(lines[1].hasSuffix("; its completion block has not returned"), "\(lines)")
    #expect(lines[3] == "queue “main”: 1 operation")
    goOn.open()
    try? await queue.untilAllOperationsAreFinished()
  }
}
