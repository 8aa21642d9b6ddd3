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

  @Test func `the root cause comes first, with the way to it, then counts, then lists`() {
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
          backup (in queue “backups”) waits for the answer of condition “Reachable” for 1 min 30 s: \
        6 wait, migrate, store 1, store 2, store 3 and 2 more
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

  @Test func `the cause that keeps most operations comes first`() {
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
        "  source (in queue “main”) has been executing for 5 s: 9 wait, step 1, step 2, step 3, step 4 and 5 more",
        "    step 9 waits for step 8", "    step 8 waits for step 7", "    … 5 more …",
        "    step 2 waits for step 1", "    step 1 waits for source",
        "  idle 1 (in queue “main”) has been executing for 5 s",
        "  idle 2 (in queue “main”) has been executing for 5 s",
      ]
    )
    #expect(lines.contains("  … and 15 more causes"))
    world.simulation.run()
  }

  @Test func `a text about thousands of operations has few lines, and counts all of them`() {
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
        "holder 1 (in queue “main”) has been executing for 5 s: 8000 wait, 1, 2, 3, 4 and"
      )
    )
    #expect(
      text.contains("holder 2 (in queue “main”) has been executing for 5 s: the same 8000 wait\n")
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
        2 operations in 2 queues
          child (in queue “main”) has been executing for 5 s: 1 waits, group
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

  @Test func `the error of an operation that has finished, and whose body goes on, is hidden, too`()
  {
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
        to be resumed
        needed: queue “AdvancedOperationQueue” has to be resumed
        """
    )
    world.queue.isSuspended = false
    world.simulation.run()
  }
}
