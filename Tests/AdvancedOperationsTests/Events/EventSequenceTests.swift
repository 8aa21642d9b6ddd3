import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Events as a sequence` {
  /// What a consumer has taken so far, in a simulated task.
  private static func take(
    _ events: OperationEvents,
    in world: World,
    _ names: Log<String>
  ) -> Task<Void, Never> {
    Task(executorPreference: world.simulation.environment.executor as? any TaskExecutor) {
      for await event in events { names.add(name(event)) }
      names.add("end")
    }
  }

  private static func name(_ event: OperationEvent) -> String {
    switch event {
    case .enqueued: "enqueued"
    case .started: "started"
    case .produced(let other): "produced \(other.name ?? "")"
    case .progress(let update): "progress \(update.completedUnitCount)/\(update.totalUnitCount)"
    case .retrying(let retry): "retrying \(retry.nextAttempt) \(retry.error)"
    case .cancelled(let errors): "cancelled \(flaws(errors))"
    case .willFinish(let outcome): "willFinish \(flaws(outcome))"
    case .finished(let outcome): "finished \(outcome.kind)"
    case .dropped(let count): "dropped \(count)"
    }
  }

  @Test(arguments: seeds)
  func `an event sequence has all events in order`(seed: UInt64) {
    let world = World(seed: seed)
    let names = Log<String>()
    let work = Work("work", policy: .whenFinishIsCalled) { work in
      work.updateProgress(completed: 1, total: 2)
      #expect(throws: Never.self) { try work.produce(Work("child")) }
    }
    _ = Self.take(work.events, in: world, names)
    world.run(work)
    work.cancel(withError: Flaw(1))
    work.finish(withError: Flaw(2))
    world.simulation.run()
    #expect(
      names.entries == [
        "enqueued", "started", "progress 1/2", "produced child", "cancelled [1]",
        "willFinish [1, 2]", "finished cancelled", "end",
      ]
    )
  }

  @Test(arguments: seeds)
  func `each of several loops receives all events`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Work()
    let shared = work.events
    let logs = (0..<4).map { _ in Log<String>() }
    for (index, log) in logs.enumerated() {
      _ = Self.take(index < 2 ? shared : work.events, in: world, log)
    }
    world.run(work)
    for log in logs {
      #expect(
        log.entries == ["enqueued", "started", "willFinish []", "finished succeeded", "end"]
      )
    }
  }

  @Test func `an event sequence begins when it was requested`() {
    let world = World()
    let work = Work.open()
    let early = work.events
    world.run(work)
    let late = work.events
    work.finish()
    let tooLate = work.events
    world.simulation.run()
    let logs = (0..<3).map { _ in Log<String>() }
    for (events, log) in zip([early, late, tooLate], logs) {
      _ = Self.take(events, in: world, log)
    }
    world.simulation.run()
    #expect(
      logs[0].entries == ["enqueued", "started", "willFinish []", "finished succeeded", "end"]
    )
    #expect(logs[1].entries == ["willFinish []", "finished succeeded", "end"])
    #expect(logs[2].entries == ["finished succeeded", "end"])
  }

  @Test(arguments: [0, 1, 300])
  func `an event sequence counts the events that a slow loop dropped`(excess: Int) {
    let world = World()
    let work = Work.open()
    let events = work.events
    world.run(work)
    // Enqueued, started, and those of the end take four places.
    for number in 0..<(OperationEvents.capacity - 4 + excess) {
      work.updateProgress(completed: Int64(number), total: 1_000)
    }
    work.finish()
    let names = Log<String>()
    _ = Self.take(events, in: world, names)
    world.simulation.run()
    let expected = excess == 0 ? "enqueued" : "dropped \(excess)"
    #expect(names.entries.first == expected)
    #expect(names.entries.suffix(3) == ["willFinish []", "finished succeeded", "end"])
    #expect(names.entries.count == OperationEvents.capacity + (excess == 0 ? 1 : 2))
  }

  @Test(arguments: seeds)
  func `a cancelled event loop ends and other loops continue`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Work.open()
    let (cancelled, other) = (Log<String>(), Log<String>())
    let task = Self.take(work.events, in: world, cancelled)
    _ = Self.take(work.events, in: world, other)
    world.run(work)
    task.cancel()
    world.simulation.run()
    work.finish()
    world.simulation.run()
    #expect(cancelled.entries == ["enqueued", "started", "end"])
    #expect(other.entries.last == "end" && other.entries.count == 5)
  }

  @Test func `an event sequence ends if the operation is released without having run`() {
    let world = World()
    let names = Log<String>()
    do {
      let work = Work()
      _ = Self.take(work.events, in: world, names)
      world.simulation.run()
      #expect(names.entries.isEmpty)
    }
    world.simulation.run()
    #expect(names.entries == ["end"])
  }

  // Of Task.immediate.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test(.watched)
  func `an event sequence delivers the end when the operation is finished`() async throws {
    let work = AdvancedOperation()
    let events = work.events
    let (early, states) = (Log<String>(), Log<AdvancedOperation.State>())
    // Told after the sequence was; reads what there is without giving up its thread.
    work.addObserver(
      BlockObserver(didFinish: { _, _ in
        Task.immediate { for await event in events { early.add(Self.name(event)) } }
        early.add("told")
      })
    )
    OperationQueue().addOperation(work)
    for await event in events {
      if case .finished = event { states.add(work.state) }
    }
    #expect(early.entries.prefix(4) == ["enqueued", "started", "willFinish []", "told"])
    #expect(states.entries == [.finished])
    #expect(work.isFinished)
  }

  @Test func `an event sequence releases the operation and its produced operations`() async {
    let live = LiveCount()
    let world = World()
    do {
      let work = Work(token: live.token()) { work in
        #expect(throws: Never.self) { try work.produce(Work(token: live.token())) }
        work.finish()
      }
      let unused = work.events
      let names = Log<String>()
      _ = Self.take(work.events, in: world, names)
      world.run(work)
      #expect(names.entries.last == "end")
      _ = unused
    }
    await live.none()
  }

  @Test(.watched)
  func `an event sequence of real operations arrives on real threads`() async throws {
    let queue = AdvancedOperationQueue()
    for _ in 0..<Effort.rounds(200) {
      let work = ResultOperation {
        AdvancedOperation.current?.updateProgress(completed: 1, total: 1)
      }
      let events = work.events
      async let first = Self.names(events)
      async let second = Self.names(events)
      queue.addOperation(work)
      let expected = [
        "enqueued", "started", "progress 1/1", "willFinish []", "finished succeeded",
      ]
      #expect(await first == expected)
      #expect(await second == expected)
    }
  }

  private static func names(_ events: OperationEvents) async -> [String] {
    var names: [String] = []
    for await event in events { names.append(name(event)) }
    return names
  }

  // MARK: The log, as a value

  @Test(arguments: [1, 2, 5])
  func `an event log keeps the last events and counts the missing ones`(capacity: Int) {
    var log = EventLog<Int>(capacity: capacity)
    for number in 0..<20 {
      #expect(log.append(number) == (number < capacity ? nil : number - capacity))
      for position in 0...(number + 1) {
        let first = max(0, number + 1 - capacity)
        switch log.read(at: position) {
        case .event(let event): #expect(event == position && position >= first)
        case .missing(let count): #expect(position + count == first && position < first)
        case .nothingYet: #expect(position == number + 1)
        case .end: Issue.record("it isn't closed")
        }
      }
    }
    log.close()
    #expect(log.append(99) == 99)
    if case .end = log.read(at: 20) {} else { Issue.record("it is closed") }
    if case .event(19) = log.read(at: 19) {} else { Issue.record("what was kept is there") }
  }
}
