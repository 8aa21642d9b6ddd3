import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A progress observer` {
  @Test func `a progress observer counts enqueued, executing and finished operations`() {
    let world = World(limit: 2)
    let observer = ProgressObserver()
    let works = ["a", "b", "c", "d"].map { Work.open($0) }
    for work in works { work.addObserver(observer) }
    #expect(observer.progress.totalUnitCount == 0)
    #expect(observer.progress.fractionCompleted == 0)
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(observer.progress.totalUnitCount == 4)
    #expect(observer.progress.completedUnitCount == 0)
    #expect(observer.progress.fractionCompleted == 0)
    #expect(Set(observer.executing) == ["a", "b"])
    works[0].finish()
    world.simulation.run()
    #expect(observer.progress.completedUnitCount == 1)
    #expect(observer.progress.fractionCompleted == 0.25)
    #expect(Set(observer.executing) == ["b", "c"])
    works[1].updateProgress(completed: 1, total: 2)
    #expect(observer.progress.fractionCompleted == 0.375)
    for work in works.dropFirst() {
      work.finish()
      world.simulation.run()
    }
    #expect(observer.progress.totalUnitCount == 4)
    #expect(observer.progress.completedUnitCount == 4)
    #expect(observer.progress.fractionCompleted == 1)
    #expect(observer.executing.isEmpty)
  }

  @Test func `a progress observer counts operations that never executed as finished`() {
    let world = World()
    let observer = ProgressObserver()
    let cancelled = Work.open("cancelled")
    let failed = Work("failed")
    failed.addCondition(Immediate(always: .failed(Flaw(1))))
    let byHand = Work("by hand")
    for work in [cancelled, failed, byHand] { work.addObserver(observer) }
    cancelled.addDependency(Work.open())
    world.run(cancelled, failed)
    #expect(observer.progress.totalUnitCount == 2)
    #expect(observer.progress.completedUnitCount == 1)
    cancelled.cancel()
    world.simulation.run()
    #expect(observer.progress.fractionCompleted == 1)
    byHand.start()
    #expect(observer.progress.totalUnitCount == 3)
    #expect(observer.progress.fractionCompleted == 1)
  }

  @Test func `a progress observer shows the greatest value until a new attempt passes it`() {
    let world = World()
    let fractions = Log<Double>()
    let observer = ProgressObserver { progress, _ in fractions.add(progress.fractionCompleted) }
    let work = ResultOperation(name: "copy", retry: .immediate.attempts(3)) {
      let attempt = Int64(AdvancedOperation.current?.attempt ?? 0)
      for step in 1...4 {
        AdvancedOperation.current?.updateProgress(completed: Int64(step), total: 4)
        if step == 3, attempt == 1 { throw Flaw(1) }
        // There is more to do than it has said before.
        if step == 2, attempt == 2 {
          AdvancedOperation.current?.updateProgress(completed: 2, total: 8)
          throw Flaw(2)
        }
      }
    }
    work.addObserver(observer)
    world.run(work)
    #expect(work.attempt == 3)
    #expect(
      fractions.entries == [0, 0, 0.25, 0.5, 0.75] + Array(repeating: 0.75, count: 3)
        + [0.75, 0.75, 0.75, 1, 1]
    )
  }

  @Test func `a progress observer reports every change and never decreases`() {
    let world = World()
    let fractions = Log<Double>()
    let observer = ProgressObserver { progress, _ in fractions.add(progress.fractionCompleted) }
    let works = (0..<5).map { number in
      ResultOperation(name: "w\(number)") {
        for step in 1...3 {
          AdvancedOperation.current?.updateProgress(completed: Int64(step), total: 3)
          await Task.yield()
        }
      }
    }
    for work in works { work.addObserver(observer) }
    world.queue.addOperations(works)
    world.simulation.run()
    // Per operation: enqueued, started, three updates, finished.
    #expect(fractions.entries.count == 30)
    #expect(fractions.entries == fractions.entries.sorted())
    #expect(fractions.entries.last == 1)
  }
}
