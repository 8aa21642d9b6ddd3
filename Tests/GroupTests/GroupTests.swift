import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A group` {
  @Test(arguments: seeds)
  func `a group finishes after its children have finished`(seed: UInt64) {
    let world = World(seed: seed)
    let children = (0..<3).map { Work.open("c\($0)") }
    let group = GroupOperation(name: "group") { children }
    let dependent = Work()
    dependent.addDependency(group)
    world.run(group, dependent)
    #expect(group.state == .executing)
    for child in children {
      #expect(child.isExecuting)
      #expect(!dependent.didExecute)
      child.finish()
      world.simulation.run()
    }
    #expect(group.kind == .succeeded)
    #expect(group.errors.isEmpty)
    #expect(dependent.kind == .succeeded)
  }

  @Test func `the builder of a group takes operations, arrays, if, for and let`() {
    func made(_ isSunday: Bool, _ extra: Work?) -> [String] {
      let single = Work("single")
      let group = GroupOperation {
        single
        [Work("a1"), Work("a2")]
        let local = Work("let")
        local
        if isSunday { Work("sunday") } else { Work("weekday") }
        if let extra { extra }
        for number in 1...2 { Work("for \(number)") }
        switch isSunday {
        case true: Work("switch")
        case false: [Operation]()
        }
      }
      return group.children.compactMap(\.name)
    }
    #expect(
      made(true, nil) == ["single", "a1", "a2", "let", "sunday", "for 1", "for 2", "switch"]
    )
    #expect(
      made(false, Work("extra"))
        == ["single", "a1", "a2", "let", "weekday", "extra", "for 1", "for 2"]
    )
  }

  @Test(arguments: seeds)
  func `a group without children succeeds`(seed: UInt64) {
    let world = World(seed: seed)
    let group = GroupOperation()
    world.run(group)
    #expect(group.kind == .succeeded)
    #expect(group.children.isEmpty)
  }

  @Test func `children start when their group starts`() {
    let world = World()
    let child = Work()
    let late = Work()
    let group = GroupOperation { child }
    let dependency = Work.open()
    group.addDependency(dependency)
    world.run(group, dependency)
    #expect(group.addOperation(late))
    #expect(!child.didExecute)
    dependency.finish()
    world.simulation.run()
    #expect(child.kind == .succeeded)
    #expect(late.kind == .succeeded)
    #expect(group.children == [child, late])
  }

  @Test(arguments: seeds)
  func `a child that is added to an executing group starts immediately`(seed: UInt64) {
    let world = World(seed: seed)
    let child = Work.open("child")
    let late = Work.open("late")
    let group = GroupOperation { child }
    world.run(group)
    #expect(group.addOperation(late))
    world.simulation.run()
    #expect(late.isExecuting)
    child.finish()
    world.simulation.run()
    #expect(group.isExecuting)
    late.finish()
    world.simulation.run()
    #expect(group.kind == .succeeded)
  }

  @Test func `a group refuses a child that is added after its end`() {
    let world = World()
    let group = GroupOperation { Work() }
    world.run(group)
    let late = Work()
    #expect(!group.addOperation(late))
    #expect(group.children.count == 1)
    world.run(late)
    #expect(late.kind == .succeeded, "the group knows nothing of it")
  }

  @Test(.watched)
  func `a child that is added during the group's end is accepted or refused`() async throws {
    let queue = AdvancedOperationQueue()
    for _ in 0..<Effort.rounds(2_000) {
      let last = Work.open("last")
      let group = GroupOperation { last }
      queue.addOperation(group)
      let late = Work()
      let isInTime = Changing(false)
      while !last.isExecuting { await Task.yield() }
      await together({ last.finish() }, { isInTime.value = group.addOperation(late) })
      try await group.untilFinished()
      #expect(late.didExecute == isInTime.value)
      #expect(group.children.count == (isInTime.value ? 2 : 1))
    }
    try await queue.untilAllOperationsAreFinished()
  }

  @Test(arguments: [1, 2, 5], 1...10)
  func `a group's limit bounds its children and they take no queue slots`(
    limit: Int,
    seed: UInt64
  ) {
    let world = World(seed: seed, limit: 1)
    let inside = Counter()
    let group = GroupOperation(maxConcurrentOperationCount: limit) {
      for number in 0..<12 {
        ResultOperation(name: "c\(number)") {
          inside.add()
          for _ in 0..<3 { await Task.yield() }
          inside.add(-1)
        }
      }
    }
    world.run(group)
    #expect(group.kind == .succeeded)
    #expect(inside.peak <= limit)
    #expect(limit > 1 || inside.peak == 1)
  }

  @Test(arguments: 1...3)
  func `a group of 1,000 children runs all of them`(seed: UInt64) {
    let world = World(seed: seed)
    let count = Counter()
    let group = GroupOperation {
      for _ in 0..<1_000 {
        Work { work in
          count.add()
          work.finish()
        }
      }
    }
    world.run(group)
    #expect(group.kind == .succeeded)
    #expect(count.count == 1_000)
  }

  @Test(.watched) func `a group of 1,000 children on threads respects its limit`()
    async throws
  {
    let queue = AdvancedOperationQueue()
    for limit in [1, 4, -1] {
      let inside = Counter()
      let group = GroupOperation(maxConcurrentOperationCount: limit) {
        for _ in 0..<1_000 {
          Work { work in
            inside.add()
            inside.add(-1)
            work.finish()
          }
        }
      }
      queue.addOperation(group)
      try await group.untilFinished()
      #expect(group.kind == .succeeded)
      #expect(group.children.allSatisfy { $0.isFinished })
      if limit > 0 { #expect(inside.peak <= limit) }
    }
  }

  @Test(arguments: seeds)
  func `plain operations can be children of a group`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let first = BlockOperation { log.add("first") }
    let second = BlockOperation { log.add("second") }
    second.addDependency(first)
    let group = GroupOperation {
      second
      first
    }
    world.run(group)
    #expect(log.entries == ["first", "second"])
    #expect(group.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `groups can be nested`(seed: UInt64) {
    let world = World(seed: seed)
    let count = Counter()
    func nested(_ depth: Int) -> GroupOperation {
      GroupOperation(name: "g\(depth)", maxConcurrentOperationCount: 1) {
        Work { work in
          count.add()
          work.finish()
        }
        if depth > 0 {
          nested(depth - 1)
          nested(depth - 1)
        }
      }
    }
    let group = nested(4)
    world.run(group)
    #expect(group.kind == .succeeded)
    #expect(count.count == 31)
  }

  @Test func `a group holds its slot until its children's bodies have returned`() {
    let world = World(limit: 1)
    let gate = Latch()
    let child = ResultOperation(name: "child") { await gate.opened() }
    let group = GroupOperation { child }
    let next = Work()
    world.run(group, next)
    // Finished by somebody else, with its body still going on.
    child.finish()
    world.simulation.run()
    #expect(child.isFinished)
    #expect(!group.isFinished)
    #expect(!next.didExecute)
    gate.open()
    world.simulation.run()
    #expect(group.kind == .succeeded)
    #expect(next.kind == .succeeded)
  }

  @Test func `a group that is finished from outside leaves after its children`() {
    let world = World()
    let child = Work.open()
    let group = GroupOperation { child }
    world.run(group)
    group.finish()
    #expect(group.kind == .succeeded)
    #expect(world.queue.operations == [group])
    child.finish(withError: Flaw(1))
    world.simulation.run()
    #expect(world.queue.operationCount == 0)
    #expect(group.errors.isEmpty)
  }

  @Test func `a manually started group runs its children and finishes`() {
    let world = World()
    let child = Work()
    let group = GroupOperation { child }
    group.environment = world.simulation.environment
    group.start()
    world.simulation.run()
    #expect(child.kind == .succeeded)
    #expect(group.kind == .succeeded)
  }

  @Test func `a manually started group that the program released still finishes`() {
    let world = World()
    let live = LiveCount()
    let log = Log<String>()
    let child = Work.open("child")
    do {
      let group = GroupOperation { child }
      let token = live.token()
      group.onFinish { _, _ in
        token.touch()
        log.add("group")
      }
      group.environment = world.simulation.environment
      group.start()
    }
    world.simulation.run()
    child.finish()
    world.simulation.run()
    #expect(log.entries == ["group"])
    #expect(live.alive == 0)
  }
}
