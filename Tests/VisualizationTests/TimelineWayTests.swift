import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import CoreOperations
import Testing

/// The critical path and the slack of a timeline.
@Suite(.watched) struct `A timeline, of the critical path` {
  @Test func `a timeline finds the critical path and the slack through groups`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let download = world.taking(2, "download")
    let (quick, slow) = (world.taking(1, "quick"), world.taking(4, "slow"))
    let group = GroupOperation(name: "group") {
      quick
      slow
    }
    group.addDependency(download)
    let aside = world.taking(3, "aside")
    let report = world.taking(1, "report")
    report.addDependency(group)
    world.run(download, group, aside, report)

    let timeline = recorder.timeline
    func index(_ name: String) -> Int { timeline.spans.firstIndex { $0.name == name } ?? -1 }
    let names = timeline.criticalPath.map { timeline.spans[$0].name }
    #expect(names == ["download", "slow", "report"])
    #expect(timeline.plan.criticalDuration == .seconds(7))
    #expect(timeline.plan.work == .seconds(11))
    #expect(timeline.slack[index("quick")] == .seconds(3))
    #expect(timeline.slack[index("aside")] == .seconds(4))
    #expect(timeline.slack[index("slow")] == .zero)
    #expect(timeline.spans[index("quick")].group == index("group"))
    #expect(timeline.plan.schedule(workers: 1).duration == .seconds(11))
  }

  @Test func `the critical path counts the time of condition evaluation`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (first, licensed, other) = (
      world.taking(1, "first"), world.taking(1, "licensed"), world.taking(6, "other")
    )
    licensed.addDependency(first)
    licensed.addCondition(world.askedFor(10))
    let end = world.taking(1, "end")
    for operation in [licensed, other] { end.addDependency(operation) }
    world.run(first, licensed, other, end)

    let timeline = recorder.timeline
    #expect(timeline.criticalPath.map { timeline.spans[$0].name } == ["first", "licensed", "end"])
    #expect(timeline.slack == [.zero, .zero, .seconds(6), .zero])
    #expect(timeline.plan.criticalDuration == .seconds(7))
    #expect(timeline.svg().contains("4 operations in 13 s · work 9 s · critical path 13 s"))
  }

  @Test func `the critical path counts the conditions of a group before its children`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (child, asked) = (world.taking(2, "child"), world.taking(1, "asked"))
    asked.addCondition(world.askedFor(4))
    let group = GroupOperation(name: "group") {
      child
      asked
    }
    group.addCondition(world.askedFor(10))
    let other = world.taking(13, "other")
    world.run(group, other)

    let timeline = recorder.timeline
    #expect(timeline.duration == .seconds(15))
    #expect(timeline.criticalPath.map { timeline.spans[$0].name } == ["group", "asked"])
    let slack = Dictionary(
      uniqueKeysWithValues: zip(timeline.spans.map(\.name), timeline.slack)
    )
    #expect(
      slack == ["group": .zero, "child": .seconds(3), "asked": .zero, "other": .seconds(2)]
    )
  }

  @Test(arguments: [true, false])
  func `the critical path includes operations that took no time`(fails: Bool) {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (load, store) = (world.taking(5, "load"), world.taking(7, "store"))
    let parse = Work("parse") { $0.finish(withErrors: fails ? [Flaw(1)] : []) }
    parse.addCondition(BlockCondition("no") { !fails })
    let (before, after) = (Work("before"), Work("after"))
    for (later, earlier) in zip([load, parse, store, after], [before, load, parse, store]) {
      later.addDependency(earlier)
    }
    world.run(before, load, parse, store, after)
    let timeline = recorder.timeline
    #expect(timeline.criticalPath.map { timeline.spans[$0].name } == ["load", "parse", "store"])
    #expect(timeline.svg().matches(of: /polyline class="critical"/).count == 2)
  }

  @Test func `the critical path omits dependencies that a cancelled operation didn't wait for`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (first, third) = (world.taking(5, "first"), world.taking(3, "third"))
    let second = Work("second")
    second.addDependency(first)
    third.addDependency(second)
    world.queue.addOperations([first, second, third])
    world.simulation.advance(by: .seconds(1))
    second.cancel()
    world.simulation.run()
    let timeline = recorder.timeline
    #expect(timeline.criticalPath.map { timeline.spans[$0].name } == ["first"])
    #expect(timeline.plan.criticalDuration == .seconds(5))
  }

  @Test func `the critical path omits dependencies that were added after the start`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (early, late) = (world.taking(1, "early"), world.taking(5, "late"))
    world.queue.addOperations([early, late])
    world.simulation.advance(by: .zero)
    early.addDependency(late)
    world.simulation.run()
    #expect(recorder.timeline.plan.criticalDuration == .seconds(5))
  }
}
