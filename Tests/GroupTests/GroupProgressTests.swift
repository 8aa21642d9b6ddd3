import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `The progress of a group` {
  private static func told(_ operation: AdvancedOperation) -> Log<String> {
    let log = Log<String>()
    operation.addObserver(
      BlockObserver(didUpdateProgress: { _, update in
        log.add("\(update.completedUnitCount)/\(update.totalUnitCount)")
      })
    )
    return log
  }

  @Test func `the progress of a group is the sum of its children's progress`() {
    let world = World()
    let (a, b) = (Work.open("a"), Work.open("b"))
    let group = GroupOperation {
      a
      b
    }
    let told = Self.told(group)
    #expect(group.progress == OperationProgress(completedUnitCount: 0, totalUnitCount: 2))
    world.run(group)
    a.updateProgress(completed: 1, total: 4)
    b.updateProgress(completed: 3, total: 6)
    a.updateProgress(completed: 1, total: 4)
    a.updateProgress(completed: 4, total: 4)
    a.finish()
    world.simulation.run()
    b.finish()
    world.simulation.run()
    #expect(told.entries.prefix(3) == ["1/5", "4/10", "7/10"])
    #expect(told.entries.last == "10/10")
    #expect(group.progress == OperationProgress(completedUnitCount: 10, totalUnitCount: 10))
  }

  @Test(arguments: seeds)
  func `a child without progress counts as one unit in any outcome`(seed: UInt64) {
    let world = World(seed: seed)
    let skipped = Work("skipped")
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    let group = GroupOperation(maxConcurrentOperationCount: 1) {
      Work("a")
      Work.failing("b")
      skipped
      BlockOperation {}
    }
    let told = Self.told(group)
    world.run(group)
    #expect(told.entries == ["1/4", "2/4", "3/4", "4/4"])
  }

  @Test func `the progress of a group counts in the groups that contain it`() {
    let world = World()
    let (a, b) = (Work.open("a"), Work.open("b"))
    let inner = GroupOperation(name: "inner") {
      a
      b
    }
    let outer = GroupOperation(name: "outer") {
      inner
      Work("c")
    }
    let told = Self.told(outer)
    world.run(outer)
    #expect(told.entries == ["1/2"])
    a.updateProgress(completed: 5, total: 10)
    #expect(told.entries.last == "6/12", "c, and 5 of 11 of inner")
    b.finish()
    world.simulation.run()
    #expect(told.entries.last == "7/12")
    a.finish()
    world.simulation.run()
    #expect(outer.progress == OperationProgress(completedUnitCount: 12, totalUnitCount: 12))
    #expect(told.entries.last == "12/12")
  }

  @Test func `the progress of a group counts late children`() {
    let world = World()
    let open = Work.open()
    let group = GroupOperation { open }
    world.run(group)
    #expect(group.addOperation(Work()))
    #expect(group.progress.totalUnitCount == 2)
    world.simulation.run()
    #expect(group.progress == OperationProgress(completedUnitCount: 1, totalUnitCount: 2))
    open.finish()
    world.simulation.run()
    #expect(group.progress == OperationProgress(completedUnitCount: 2, totalUnitCount: 2))
  }

  @Test func `observers receive new progress before a late child starts`() {
    let world = World()
    let inner = GroupOperation(name: "inner") { Work.open("first") }
    let outer = GroupOperation(name: "outer") { inner }
    let (innerTold, outerTold) = (Self.told(inner), Self.told(outer))
    world.run(outer)
    let late = Work.open("late")
    let states = Log<AdvancedOperation.State>()
    inner.addObserver(BlockObserver(didUpdateProgress: { _, _ in states.add(late.state) }))
    #expect(inner.addOperation(late))
    #expect(innerTold.entries == ["0/2"])
    #expect(outerTold.entries == ["0/2"])
    #expect(states.entries == [.pending])
    world.simulation.run()
    late.finish()
    world.simulation.run()
    #expect(innerTold.entries == ["0/2", "1/2"])
    #expect(outerTold.entries == ["0/2", "1/2"])
  }

  @Test func `the progress counts a late child that an observer cancels`() {
    let world = World()
    let group = GroupOperation(name: "group") { Work.open("first") }
    group.addObserver(BlockObserver(didUpdateProgress: { group, _ in group.cancel() }))
    world.run(group)
    #expect(group.addOperation(Work("late")))
    world.simulation.run()
    #expect(group.progress == OperationProgress(completedUnitCount: 2, totalUnitCount: 2))
    #expect(group.kind == .cancelled)
  }

  @Test func `invalid progress values do no harm`() {
    let world = World()
    let open = Work.open()
    let group = GroupOperation { [open, Work.open("other")] }
    world.run(group)
    for (completed, total) in [(1, 0), (1, -1), (0, Int64.min)] as [(Int64, Int64)] {
      open.updateProgress(completed: completed, total: total)
      #expect(group.progress == OperationProgress(completedUnitCount: 0, totalUnitCount: 2))
    }
    open.updateProgress(completed: 9, total: 3)
    #expect(group.progress == OperationProgress(completedUnitCount: 3, totalUnitCount: 4))
    open.updateProgress(completed: -9, total: 3)
    #expect(group.progress == OperationProgress(completedUnitCount: 3, totalUnitCount: 4))
    open.updateProgress(completed: .max, total: .max)
    open.finish()
    world.simulation.run()
    group.cancel()
    world.simulation.run()
    #expect(group.kind == .cancelled)
  }

  @Test func `the progress of a group doesn't decrease when a child restarts`() {
    let world = World()
    let retried = RetryOperation(retry: .immediate.attempts(2)) { attempt in
      Work { work in
        work.updateProgress(completed: attempt == 1 ? 6 : 2, total: 8)
        if attempt == 1 { return work.finish(withError: Flaw(1)) }
        work.updateProgress(completed: 7, total: 8)
        work.finish()
      }
    }
    let open = Work.open()
    let group = GroupOperation {
      retried
      open
    }
    let told = Self.told(group)
    world.run(group)
    #expect(told.entries == ["6/9", "7/9", "8/9"])
    open.updateProgress(completed: 3, total: 4)
    open.updateProgress(completed: 1, total: 2)
    open.updateProgress(completed: 1, total: 20)
    #expect(group.addOperation(Work.open()))
    #expect(group.progress == OperationProgress(completedUnitCount: 11, totalUnitCount: 29))
    #expect(told.entries.dropFirst(3) == ["11/12", "11/28", "11/29"])
  }

  @Test func `a retry has its attempt's progress and a repetition counts its rounds`() {
    let world = World()
    let retrying = RetryOperation(retry: .immediate.attempts(2)) { attempt in
      Work { work in
        work.updateProgress(completed: Int64(attempt), total: 9)
        if attempt == 1 { work.finish(withError: Flaw(1)) } else { work.finish() }
      }
    }
    let repeating = RepeatOperation(times: 3) { _ in Work() }
    let (first, second) = (Self.told(retrying), Self.told(repeating))
    world.run(retrying, repeating)
    #expect(first.entries == ["1/9", "2/9"])
    #expect(second.entries == ["1/3", "2/3", "3/3"])
  }

  @Test(.watched)
  func `the progress of a group never decreases when many threads report`() async throws {
    let queue = AdvancedOperationQueue()
    for _ in 0..<20 {
      let group = GroupOperation {
        for _ in 0..<8 {
          ResultOperation {
            for step in 1...20 {
              AdvancedOperation.current?.updateProgress(completed: Int64(step), total: 20)
            }
          }
        }
      }
      let last = Changing(Int64(0))
      let backwards = Counter()
      group.addObserver(
        BlockObserver(didUpdateProgress: { _, update in
          if update.completedUnitCount < last.value { backwards.add() }
          last.value = update.completedUnitCount
        })
      )
      queue.addOperation(group)
      try await group.untilFinished()
      #expect(backwards.count == 0)
      #expect(
        group.progress == OperationProgress(completedUnitCount: 160, totalUnitCount: 160)
      )
    }
  }

  @Test func `the progress of very many units stops at the maximum`() {
    let world = World()
    let children = (0..<2).map { Work.open("child \($0)") }
    let group = GroupOperation(name: "group") { children }
    world.run(group)
    for child in children { child.updateProgress(completed: 5, total: .max) }
    #expect(group.progress == OperationProgress(completedUnitCount: 10, totalUnitCount: .max))
    for child in children { child.finish() }
    world.simulation.run()
    #expect(
      group.progress == OperationProgress(completedUnitCount: .max, totalUnitCount: .max)
    )
  }
}
