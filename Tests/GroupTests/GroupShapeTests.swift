import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched) struct `Children of a group, and its limit` {
  @Test func `a group's builder accepts statements that attach observers or add dependencies`() {
    let world = World()
    let log = Log<String>()
    let download = ResultOperation(name: "download") { 1 }
    let parse = Work("parse")
    let group = GroupOperation {
      download
      _ = download.onFinish { _, _ in log.add("downloaded") }
      parse
      parse.addDependency(download)
      _ = parse.addObserver(BlockObserver(didStart: { _ in log.add("parsing") }))
    }
    world.run(group)
    #expect(group.children == [download, parse])
    #expect(log.entries == ["downloaded", "parsing"])
  }

  @Test func `an operation's group is the innermost one that contains it`() {
    let world = World()
    let seen = Log<String?>()
    let look: @Sendable () -> Void = { seen.add(AdvancedOperation.current?.group?.name) }
    let inner = GroupOperation(name: "inner") { ResultOperation(name: "child") { look() } }
    let retrying = RetryOperation(retry: .immediate.attempts(1)) { _ in
      ResultOperation(name: "attempt") { look() }
    }
    retrying.addDependency(inner)
    let producer = Work("producer") { work in
      try? work.produce(ResultOperation(name: "produced") { look() })
      work.finish()
    }
    producer.addDependency(retrying)
    let outer = GroupOperation(name: "outer") { [inner, retrying, producer] }
    #expect(inner.group === outer)
    #expect(outer.group == nil)
    world.run(outer)
    #expect(seen.entries == ["inner", "outer", "outer"])
  }

  @Test(arguments: seeds)
  func `a group's limit can be changed while its children execute`(seed: UInt64) {
    let world = World(seed: seed)
    let children = (0..<4).map { Work.open("c\($0)") }
    let group = GroupOperation(maxConcurrentOperationCount: 0) { children }
    var executing: Int { children.count(where: \.isExecuting) }
    #expect(group.maxConcurrentOperationCount == 0)
    world.run(group)
    #expect(executing == 0)
    for limit in [1, 3] {
      group.maxConcurrentOperationCount = limit
      world.simulation.run()
      #expect(executing == limit)
    }
    group.maxConcurrentOperationCount = 1
    for child in children.filter(\.isExecuting) { child.finish() }
    world.simulation.run()
    #expect(executing == 1)
    for child in children { child.cancel() }
    world.simulation.run()
    #expect(group.isFinished)
  }

  @Test func `a group's limit that is set before the start applies`() {
    let world = World()
    let children = (0..<3).map { Work.open("c\($0)") }
    let group = GroupOperation { children }
    group.maxConcurrentOperationCount = 2
    world.run(group)
    #expect(children.count(where: \.isExecuting) == 2)
    group.cancel()
    world.simulation.run()
  }

  @Test func `a group limit below -1 traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { GroupOperation(name: "sync").maxConcurrentOperationCount = -2 }
    try expectMessage(
      "GroupOperation “sync” was given the limit -2. Give a number from 0",
      in: result
    )
  }

  @Test func `a group that is added to itself traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let group = GroupOperation(name: "sync")
      group.addOperation(group)
    }
    try expectMessage(
      "GroupOperation “sync” was added to the group “sync”, which is itself. Each would wait",
      in: result
    )
  }

  @Test func `a group that is added to its own descendant traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let inner = GroupOperation(name: "inner")
      let middle = GroupOperation(name: "middle") { inner }
      let outer = GroupOperation(name: "outer") { middle }
      inner.addOperation(outer)
    }
    try expectMessage(
      "GroupOperation “outer” was added to the group “inner”, which is inside of it. Each would",
      in: result
    )
  }

  @Test func `operations and delays have the names from their initializers`() {
    #expect(AdvancedOperation(name: "plain").name == "plain")
    #expect(DelayOperation(name: "pause", .zero).name == "pause")
    #expect(AdvancedOperation(name: nil).label == AdvancedOperation().label)
  }
}
