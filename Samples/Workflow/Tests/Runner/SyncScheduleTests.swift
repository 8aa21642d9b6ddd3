import Testing

@testable import WorkflowRunner

@Suite struct SyncScheduleTests {
  @Test func `A record that delays a step is synced immediately`() {
    var schedule = SyncSchedule<Int>()
    #expect(schedule.step { $0.waits(1, isUrgent: true) } == .sync)
    #expect(schedule.step { $0.syncBegins() } == [1])
    #expect(schedule.step { $0.syncEnded() } == .none)
    #expect(schedule.step { $0.waits(2, isUrgent: true) } == .sync)
  }

  @Test func `What holds nothing up waits for a pause, and takes along what comes in it`() {
    var schedule = SyncSchedule<Int>()
    #expect(schedule.step { $0.waits(1, isUrgent: false) } == .pause)
    #expect(schedule.step { $0.waits(2, isUrgent: false) } == .none)
    #expect(schedule.step { $0.pauseEnded() } == .sync)
    // The sync that is about to begin takes it, too.
    #expect(schedule.step { $0.waits(3, isUrgent: false) } == .none)
    #expect(schedule.step { $0.syncBegins() } == [1, 2, 3])
    #expect(schedule.step { $0.syncEnded() } == .none)
  }

  @Test func `What holds something up ends a pause, whose end means nothing then`() {
    var schedule = SyncSchedule<Int>()
    #expect(schedule.step { $0.waits(1, isUrgent: false) } == .pause)
    #expect(schedule.step { $0.waits(2, isUrgent: true) } == .sync)
    #expect(schedule.step { $0.pauseEnded() } == .none)
    #expect(schedule.step { $0.syncBegins() } == [1, 2])
    #expect(schedule.step { $0.pauseEnded() } == .none)
    #expect(schedule.step { $0.syncEnded() } == .none)
    #expect(schedule.step { $0.pauseEnded() } == .none)
  }

  @Test func `What comes during a sync gets the next one`() {
    var schedule = SyncSchedule<Int>()
    _ = schedule.waits(1, isUrgent: true)
    _ = schedule.syncBegins()
    #expect(schedule.step { $0.waits(2, isUrgent: false) } == .none)
    #expect(schedule.step { $0.waits(3, isUrgent: true) } == .none)
    #expect(schedule.step { $0.syncEnded() } == .sync)
    #expect(schedule.step { $0.syncBegins() } == [2, 3])
    #expect(schedule.step { $0.waits(4, isUrgent: false) } == .none)
    #expect(schedule.step { $0.syncEnded() } == .pause)
    #expect(schedule.step { $0.pauseEnded() } == .sync)
    #expect(schedule.step { $0.syncBegins() } == [4])
  }

  /// What was asked for and hasn't happened: a sync, and the ends of pauses, which may come late.
  private struct World {
    var schedule = SyncSchedule<Int>()
    var syncIsDue = false
    var isSyncing = false
    var pauses = 0
    var waiting: [Int] = []
    var isUrgentWaiting = false
    var next = 0

    mutating func take(_ action: SyncSchedule<Int>.Action) {
      switch action {
      case .none: break
      case .sync:
        #expect(!syncIsDue && !isSyncing)
        syncIsDue = true
      case .pause: pauses += 1
      }
    }
  }

  /// All orders of seven events.
  @Test func `No waiter is forgotten, and no two syncs overlap, in any order`() {
    var ends = 0
    func explore(_ world: World, _ left: Int) {
      // Something will come for all that wait; soon, if one holds something up.
      if !world.waiting.isEmpty {
        #expect(world.syncIsDue || world.isSyncing || world.pauses > 0)
        if world.isUrgentWaiting { #expect(world.syncIsDue || world.isSyncing) }
      }
      if left == 0 { return ends += 1 }
      for isUrgent in [false, true] {
        var copy = world
        copy.waiting.append(copy.next)
        copy.isUrgentWaiting = copy.isUrgentWaiting || isUrgent
        copy.take(copy.schedule.waits(copy.next, isUrgent: isUrgent))
        copy.next += 1
        explore(copy, left - 1)
      }
      if world.pauses > 0 {
        var copy = world
        copy.pauses -= 1
        copy.take(copy.schedule.pauseEnded())
        explore(copy, left - 1)
      }
      if world.syncIsDue {
        var copy = world
        (copy.syncIsDue, copy.isSyncing) = (false, true)
        #expect(copy.schedule.step { $0.syncBegins() } == copy.waiting)
        (copy.waiting, copy.isUrgentWaiting) = ([], false)
        explore(copy, left - 1)
      }
      if world.isSyncing {
        var copy = world
        copy.isSyncing = false
        copy.take(copy.schedule.syncEnded())
        explore(copy, left - 1)
      }
    }
    explore(World(), 7)
    #expect(ends > 1_000)
  }
}

extension SyncSchedule {
  /// Changes it within an expectation, which can't call what is mutating.
  fileprivate mutating func step<Result>(_ body: (inout Self) -> Result) -> Result { body(&self) }
}
