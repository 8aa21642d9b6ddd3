import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Producing other operations` {
  @Test func `an executing operation adds produced operations and notifies observers`() {
    let world = World()
    let child = Work("child")
    let work = Work("work") { work in
      #expect(throws: Never.self) { try work.produce(child) }
      work.finish()
    }
    let told = Log<String>()
    work.addObserver(
      BlockObserver(didProduce: { _, child in
        told.add("\(child.name ?? "") \(world.queue.operations.contains(child))")
      })
    )
    world.run(work)
    #expect(told.entries == ["child true"])
    #expect(child.kind == .succeeded)
  }

  @Test
  func `an operation may produce another in willFinish and observers receive it before didFinish`()
  {
    let world = World()
    let child = Work("child")
    let recorder = RecordingObserver()
    let work = Work()
    work.addObserver(
      BlockObserver(willFinish: { operation, _ in
        #expect(throws: Never.self) { try operation.produce(child) }
      })
    )
    work.addObserver(recorder)
    world.run(work)
    #expect(recorder.kinds == [.enqueued, .started, .willFinish, .produced, .finished])
    #expect(child.kind == .succeeded)
  }

  @Test func `observers receive a produced operation even if the producer ends in the meantime`() {
    struct Ends: OperationObserver {
      let other: AdvancedOperation
      func operationDidEnqueue(_ operation: AdvancedOperation) { other.finish() }
    }
    let world = World()
    let recorder = RecordingObserver()
    let child = Work("child")
    let work = Work("work") { work in
      #expect(throws: Never.self) { try work.produce(child) }
    }
    work.addObserver(recorder)
    child.addObserver(Ends(other: work))
    world.run(work)
    #expect(recorder.kinds == [.enqueued, .started, .produced, .willFinish, .finished])
    #expect(child.kind == .succeeded)
  }

  @Test func `observers don't receive a refused product but receive other events`() {
    let recorder = RecordingObserver()
    let work = Work { work in
      #expect(throws: OperationProduceError.noQueue) { try work.produce(Work()) }
      work.updateProgress(completed: 1, total: 1)
      work.finish()
    }
    work.addObserver(recorder)
    work.start()
    #expect(recorder.kinds == [.started, .progress, .willFinish, .finished])
  }

  @Test func `an operation may produce another in the finish hook`() {
    final class Producer: Work, @unchecked Sendable {
      let child = Work("child")
      override func finished(withErrors errors: [any Error]) {
        #expect(throws: Never.self) { try produce(child) }
      }
    }
    let world = World()
    let work = Producer()
    world.run(work)
    #expect(work.child.kind == .succeeded)
  }

  @Test func `an operation can't produce before executing or after willFinish`() {
    let world = World()
    let refused = Counter()
    let tries: @Sendable (AdvancedOperation) -> Void = { operation in
      do throws(any Error) {
        try operation.produce(Work())
        Issue.record("produced in \(operation.state)")
      } catch {
        #expect(error as? OperationProduceError == .notExecuting)
        refused.add()
      }
    }
    let work = Work()
    work.addCondition(
      Immediate { operation in
        tries(operation)
        return .satisfied
      }
    )
    work.addObserver(
      BlockObserver(didEnqueue: tries, didFinish: { operation, _ in tries(operation) })
    )
    tries(work)
    world.run(work)
    tries(work)
    // Its condition is evaluated twice.
    #expect(refused.count == 6)
  }

  @Test func `a waiting operation can't produce`() {
    let world = World(limit: 1)
    let holder = Work.open()
    let work = Work()
    world.run(holder)
    world.run(work)
    #expect(work.state == .ready)
    #expect(throws: OperationProduceError.notExecuting) { try work.produce(Work()) }
    holder.finish()
    world.simulation.run()
  }

  @Test func `a manually started operation can't produce because it has no queue`() {
    let work = Work { work in
      #expect(throws: OperationProduceError.noQueue) { try work.produce(Work()) }
      work.finish()
    }
    work.start()
    #expect(work.kind == .succeeded)
  }

  @Test func `a body in a task can produce for its operation`() {
    let world = World()
    let child = Work("child")
    let work = ResultOperation {
      try AdvancedOperation.current?.produce(child)
    }
    world.run(work)
    #expect(work.kind == .succeeded)
    #expect(child.kind == .succeeded)
  }

  @Test func `an operation that a child produces becomes a child of the group`() {
    let world = World()
    let grandchild = Work.open("grandchild")
    let child = Work("child") { work in
      #expect(throws: Never.self) { try work.produce(grandchild) }
      work.finish()
    }
    let group = GroupOperation(name: "group") { child }
    world.run(group)
    #expect(child.kind == .succeeded)
    #expect(group.children == [child, grandchild])
    #expect(group.isExecuting)
    grandchild.finish()
    world.simulation.run()
    #expect(group.kind == .succeeded)
  }

  @Test func `observers receive progress only while the operation executes`() {
    let world = World()
    let recorder = RecordingObserver()
    let work = Work { work in
      work.updateProgress(completed: 1, total: 4)
      work.finish()
      work.updateProgress(completed: 4, total: 4)
    }
    work.addObserver(recorder)
    work.updateProgress(completed: 0, total: 4)
    world.run(work)
    #expect(recorder.kinds == [.enqueued, .started, .progress, .willFinish, .finished])
  }

  @Test func `the fraction of an update is from 0 to 1`() {
    let fractions = [(1, 4), (0, 0), (5, 4), (-1, 4), (4, 4), (1, -1)].map { completed, total in
      OperationProgress(completedUnitCount: completed, totalUnitCount: total)
        .fractionCompleted
    }
    #expect(fractions == [0.25, 0, 1, 0, 1, 0])
  }
}
