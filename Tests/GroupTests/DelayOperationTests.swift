import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A delay` {
  @Test(arguments: seeds)
  func `a delay finishes after its duration counted from its start`(seed: UInt64) {
    let world = World(seed: seed)
    let first = DelayOperation(.seconds(10))
    let second = DelayOperation(.milliseconds(500))
    second.addDependency(first)
    let ends = Log<Duration>()
    for delay in [first, second] { delay.onFinish { _, _ in ends.add(world.simulation.now) } }
    world.run(second, first)
    #expect(ends.entries == [.seconds(10), .milliseconds(10_500)])
    #expect(first.kind == .succeeded && second.kind == .succeeded)
  }

  @Test(arguments: [Duration.zero, .seconds(-1)])
  func `a delay of no duration finishes immediately`(duration: Duration) {
    let world = World()
    let delay = DelayOperation(duration)
    world.run(delay)
    #expect(delay.kind == .succeeded)
    #expect(world.simulation.now == .zero)
  }

  @Test(arguments: seeds)
  func `a cancelled delay ends immediately and leaves no timer`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let delay = DelayOperation(.seconds(3_600))
    let next = ResultOperation { world.simulation.now }
    world.queue.addOperations([delay, next])
    world.simulation.advance(by: .seconds(60))
    #expect(delay.state == .executing)
    delay.cancel(withError: Flaw(1))
    #expect(delay.isFinished)
    world.simulation.run()
    #expect(delay.kind == .cancelled)
    #expect(delay.flawNumbers == [1])
    #expect((try? next.result?.get()) == .seconds(60))
    #expect(world.simulation.now == .seconds(60), "time never moved to where the delay would end")
  }

  @Test func `a delay that is cancelled before its start takes no time`() {
    let world = World()
    let delay = DelayOperation(.seconds(60))
    delay.cancel()
    world.run(delay)
    #expect(delay.kind == .cancelled)
    #expect(world.simulation.now == .zero)
  }

  @Test func `a delay holds a slot and no thread`() {
    let world = World(limit: 1)
    let next = ResultOperation { world.simulation.now }
    world.run(DelayOperation(.seconds(5)), next)
    #expect((try? next.result?.get()) == .seconds(5))
  }

  @Test func `a delay can be started manually`() {
    let world = World()
    let delay = DelayOperation(.seconds(5))
    delay.environment = world.simulation.environment
    delay.start()
    #expect(delay.state == .executing)
    world.simulation.run()
    #expect(delay.kind == .succeeded)
    #expect(world.simulation.now == .seconds(5))
  }

  @Test func `a cancelled delay is released together with its timer`() async {
    let live = LiveCount()
    let world = World()
    do {
      let delay = DelayOperation(.seconds(3_600))
      let token = live.token()
      delay.onFinish { _, _ in token.touch() }
      world.queue.addOperation(delay)
      world.simulation.advance(by: .seconds(1))
      delay.cancel()
    }
    world.simulation.run()
    await live.none()
  }

  @Test(.watched) func `a delay waits in real time too`() async throws {
    let queue = AdvancedOperationQueue()
    let delay = DelayOperation(.milliseconds(1))
    let clock = queue.environment.clock
    let begin = clock.now
    queue.addOperation(delay)
    try await delay.untilFinished()
    #expect(clock.now - begin >= .milliseconds(1))
    #expect(delay.kind == .succeeded)
  }

  @Test(.watched) func `a delay whose end races with a cancel has one outcome`() async throws {
    let queue = AdvancedOperationQueue()
    for _ in 0..<Effort.rounds(500) {
      let delay = DelayOperation(.nanoseconds(1))
      let ends = Counter()
      delay.onFinish { _, _ in ends.add() }
      await together({ queue.addOperation(delay) }, { delay.cancel() })
      try await delay.untilFinished()
      #expect(ends.count == 1)
      #expect((delay.kind == .cancelled) == delay.isCancelled)
    }
  }
}
