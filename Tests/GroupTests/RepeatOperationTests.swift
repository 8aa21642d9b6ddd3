import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Repeating` {
  /// A round that takes a time, and notes when it began.
  private static func round(
    _ world: World,
    _ begins: Log<Duration>,
    taking duration: Duration = .zero
  ) -> AdvancedOperation {
    let round = DelayOperation(duration)
    round.onStart { _ in begins.add(world.simulation.now) }
    return round
  }

  @Test(arguments: [0, 1, 2, 7])
  func `a repetition runs the requested number of rounds`(times: Int) {
    let world = World()
    let rounds = Log<Int>()
    let repeating = RepeatOperation(name: "repeat", times: times) { round in
      rounds.add(round)
      return Work()
    }
    world.run(repeating)
    #expect(rounds.entries == (0..<times).map { $0 + 1 })
    #expect(repeating.kind == .succeeded)
    #expect(world.simulation.now == .zero)
  }

  @Test func `a repetition ends if there isn't an operation for a round`() {
    let world = World()
    let asked = Counter()
    let repeating = RepeatOperation(times: nil) { round in
      asked.add()
      return round > 5 ? nil : Work()
    }
    world.run(repeating)
    #expect(asked.count == 6)
    #expect(repeating.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `the interval of a repetition counts from beginning to beginning`(seed: UInt64) {
    let world = World(seed: seed)
    let begins = Log<Duration>()
    let repeating = RepeatOperation(times: 4, every: .seconds(10)) { _ in
      Self.round(world, begins, taking: .seconds(3))
    }
    world.run(repeating)
    #expect(begins.entries == [0, 10, 20, 30].map { .seconds($0) })
    #expect(world.simulation.now == .seconds(33), "there is no wait after the last round")
  }

  @Test(arguments: seeds)
  func `a round that exceeds its interval is followed immediately by the next`(seed: UInt64) {
    let world = World(seed: seed)
    let begins = Log<Duration>()
    let durations = [3, 25, 3, 3]
    let repeating = RepeatOperation(times: 4, every: .seconds(10)) { round in
      Self.round(world, begins, taking: .seconds(durations[round - 1]))
    }
    world.run(repeating)
    #expect(begins.entries == [0, 10, 35, 45].map { .seconds($0) })
  }

  @Test(arguments: seeds)
  func `the pause of a repetition counts from end to beginning`(seed: UInt64) {
    let world = World(seed: seed)
    let begins = Log<Duration>()
    let durations = [3, 25, 3, 3]
    let repeating = RepeatOperation(times: 4, pause: .seconds(10)) { round in
      Self.round(world, begins, taking: .seconds(durations[round - 1]))
    }
    world.run(repeating)
    #expect(begins.entries == [0, 13, 48, 61].map { .seconds($0) })
  }

  @Test func `an interval and a pause of a repetition both apply`() {
    let world = World()
    let begins = Log<Duration>()
    let durations = [1, 9, 30, 1]
    let repeating = RepeatOperation(times: 4, every: .seconds(10), pause: .seconds(5)) { round in
      Self.round(world, begins, taking: .seconds(durations[round - 1]))
    }
    world.run(repeating)
    #expect(begins.entries == [0, 10, 24, 59].map { .seconds($0) })
  }

  /// The clock of a simulation, whose second sleep ends a time later than it was to.
  private final class LateClock: OperationClock.Source {
    private let clock: OperationClock
    private let lateness: Duration
    private let sleeps = Counter()

    init(_ simulation: SimulatedEnvironment, _ lateness: Duration) {
      clock = simulation.environment.clock
      self.lateness = lateness
    }

    let identity = ClockIdentity()
    var now: Duration { clock.now }

    func sleep(until deadline: Duration) async throws {
      let isSecond = sleeps.add() == 2
      try await clock.sleep(until: isSecond ? deadline + lateness : deadline)
    }

    func schedule(
      at deadline: Duration,
      _ action: @escaping @Sendable () -> Void
    ) -> OperationTimer { clock.schedule(at: deadline, action) }
  }

  @Test(arguments: [4, 9, 10, 25], [false, true])
  func `a wait between rounds that ends late moves all later rounds`(lateness: Int, hasPause: Bool)
  {
    let world = World()
    var environment = world.simulation.environment
    environment.clock = OperationClock(
      source: LateClock(world.simulation, .seconds(lateness))
    )
    let queue = AdvancedOperationQueue(environment: environment)
    let begins = Log<Duration>()
    let repeating = RepeatOperation(
      times: 5,
      every: hasPause ? .zero : .seconds(10),
      pause: hasPause ? .seconds(10) : .zero
    ) { _ in
      ResultOperation<Void> { begins.add(world.simulation.now) }
    }
    queue.addOperation(repeating)
    world.simulation.run()
    let late = 20 + lateness
    #expect(begins.entries == [0, 10, late, late + 10, late + 20].map { .seconds($0) })
  }

  @Test func `a failed round is the last of its repetition`() {
    let world = World()
    let repeating = RepeatOperation(name: "repeat", times: 5) { round in
      round == 3 ? Work.failing("third", 7) : Work()
    }
    world.run(repeating)
    #expect(repeating.kind == .failed)
    #expect(repeating.flawNumbers == [7])
    #expect(repeating.origins == [.child("third", .body)])
  }

  @Test func `a hook may continue a repetition after an error or replace the error`() {
    let world = World()
    let asked = Log<String>()
    let repeating = RepeatOperation(times: nil) { round in Work.failing("round \(round)", round) }
    repeating.mapRoundErrors { operation, error in
      asked.add("\(operation.name ?? ""): \(error)")
      return error as? Flaw == Flaw(3) ? Flaw(30) : nil
    }
    world.run(repeating)
    #expect(asked.entries == (1...3).map { "round \($0): flaw \($0)" })
    #expect(repeating.flawNumbers == [30])
    #expect(repeating.origins == [.child("round 3", .body)])
  }

  @Test func `a cancelled round ends its repetition and a skipped one doesn't`() {
    let world = World()
    let made = Counter()
    let repeating = RepeatOperation(times: 5) { round in
      made.add()
      let work = Work("round \(round)")
      switch round {
      case 1: work.addCondition(Immediate(always: .skipped(reason: "no need")))
      default: work.cancel()
      }
      return work
    }
    world.run(repeating)
    #expect(made.count == 2)
    #expect(repeating.kind == .failed)
    #expect(repeating.origins == [.child("round 2", .cancel)])
    #expect(repeating.errors.first is CancellationError)
  }

  @Test(arguments: seeds)
  func `a cancelled repetition cancels its current round`(seed: UInt64) {
    let world = World(seed: seed)
    let begins = Log<Duration>()
    let children = Log<AdvancedOperation>()
    let repeating = RepeatOperation(every: .seconds(10)) { _ in
      let round = Self.round(world, begins, taking: .seconds(5))
      children.add(round)
      return round
    }
    world.queue.addOperation(repeating)
    world.simulation.advance(by: .seconds(22))
    repeating.cancel(withError: Flaw(1))
    world.simulation.run()
    #expect(repeating.kind == .cancelled)
    #expect(repeating.flawNumbers == [1], "the reason once")
    #expect(children.entries.map(\.kind) == [.succeeded, .succeeded, .cancelled])
    #expect(children.entries.last?.cancellationReason as? Flaw == Flaw(1))
    #expect(world.simulation.now == .seconds(22))
  }

  @Test(arguments: seeds)
  func `a cancel ends a repetition's wait for the next round`(seed: UInt64) {
    let world = World(seed: seed)
    let begins = Log<Duration>()
    let repeating = RepeatOperation(every: .seconds(3_600)) { _ in
      Self.round(world, begins)
    }
    world.queue.addOperation(repeating)
    world.simulation.advance(by: .seconds(5))
    repeating.cancel()
    world.simulation.run()
    #expect(repeating.kind == .cancelled)
    #expect(begins.entries == [.zero])
    #expect(world.simulation.now == .seconds(5))
  }

  @Test(arguments: seeds)
  func `a repetition takes one slot and can't deadlock a serial queue`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let inside = RepeatOperation(name: "inside", times: 2) { _ in Work() }
    let made = Counter()
    let outside = RepeatOperation(name: "outside", times: 2) { round in
      made.add()
      return round == 1 ? inside : Work()
    }
    world.run(outside, Work("next"))
    #expect(made.count == 2)
    #expect(inside.kind == .succeeded && outside.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `an operation that a round produces belongs to that round`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let repeating = RepeatOperation(times: 2, every: .zero) { round in
      Work("round \(round)") { work in
        let child = ResultOperation(name: "child \(round)") {
          try await world.simulation.environment.clock.sleep(until: .seconds(10 * round))
          log.add("child \(round)")
          if round == 2 { throw Flaw(2) }
        }
        #expect(throws: Never.self) { try work.produce(child) }
        log.add("round \(round)")
        work.finish()
      }
    }
    world.run(repeating)
    #expect(log.entries == ["round 1", "child 1", "round 2", "child 2"])
    #expect(repeating.origins == [.child("round 2", .child("child 2", .body))])
  }

  @Test func `a repetition of many rounds doesn't need a deep stack`() {
    let world = World()
    let made = Counter()
    world.run(
      RepeatOperation(times: 5_000) { _ in
        made.add()
        return AdvancedOperation()
      }
    )
    #expect(made.count == 5_000)
  }

  @Test func `a repetition releases everything at its end`() async {
    let live = LiveCount()
    let world = World()
    func make(times: Int?) -> RepeatOperation<Void> {
      let token = live.token()
      let repeating = RepeatOperation(times: times, every: .seconds(10)) { _ in
        token.touch()
        return Work(token: live.token())
      }
      repeating.mapRoundErrors { _, error in
        token.touch()
        return error
      }
      return repeating
    }
    world.run(make(times: 2))
    _ = make(times: nil)
    do {
      let endless = make(times: nil)
      world.queue.addOperation(endless)
      world.simulation.advance(by: .seconds(15))
      endless.cancel()
      world.simulation.run()
    }
    #expect(live.made > 3)
    await live.none()
  }

  @Test(.watched) func `a repetition that another thread cancels always ends`() async throws {
    let queue = AdvancedOperationQueue()
    for _ in 0..<Effort.rounds(300) {
      let repeating = RepeatOperation(times: nil) { _ in Work() }
      await together({ queue.addOperation(repeating) }, { repeating.cancel(withError: Flaw(1)) })
      try await repeating.untilFinished()
      #expect(repeating.kind == .cancelled)
      #expect(repeating.flawNumbers == [1])
    }
    try await queue.untilAllOperationsAreFinished()
  }
}
