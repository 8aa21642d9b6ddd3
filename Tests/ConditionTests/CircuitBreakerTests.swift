import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A circuit breaker` {
  private struct Circuit {
    let world: World
    let breaker: CircuitBreaker

    init(
      seed: UInt64 = 1,
      failures: Int = 2,
      cooldown: Duration = .seconds(10),
      counts: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) {
      world = World(seed: seed)
      breaker = CircuitBreaker(failures: failures, cooldown: cooldown, counts: counts)
    }

    /// Attaches the condition, and lets the operation run as far as it can.
    @discardableResult
    func call(_ work: Work) -> Work {
      work.addCondition(CircuitClosed(breaker))
      world.queue.addOperation(work)
      world.simulation.advance(by: .zero)
      return work
    }

    func open() {
      while breaker.state == .closed { call(.failing()) }
    }

    func halfOpen() {
      open()
      world.simulation.advance(by: .seconds(10))
    }
  }

  private static func refusal(_ work: Work) -> CircuitClosed.Open? {
    (work.errors.first as? OperationConditionError)?.underlying as? CircuitClosed.Open
  }

  @Test func `a circuit breaker is closed until the given number of failures`() {
    let circuit = Circuit(failures: 3)
    for _ in 0..<2 { circuit.call(.failing()) }
    #expect(circuit.breaker.state == .closed)
    circuit.call(.failing())
    #expect(circuit.breaker.state == .open)
    let refused = circuit.call(Work())
    #expect(refused.kind == .failed)
    #expect(!refused.didExecute)
    #expect(Self.refusal(refused) == .init(remaining: .seconds(10)))
    #expect(
      "\(refused.errors[0])"
        == "condition “circuit closed”: The circuit is open for another 10 s."
    )
  }

  @Test func `a circuit breaker restarts its count of failures after a success`() {
    let circuit = Circuit(failures: 2)
    for _ in 0..<5 {
      circuit.call(.failing())
      circuit.call(Work())
    }
    #expect(circuit.breaker.state == .closed)
  }

  @Test func `a circuit breaker stays open for the cooldown even if it refuses operations`() {
    let circuit = Circuit()
    circuit.open()
    for second in 0..<10 {
      #expect(circuit.breaker.state == .open)
      #expect(Self.refusal(circuit.call(Work())) == .init(remaining: .seconds(10 - second)))
      circuit.world.simulation.advance(by: .seconds(1))
    }
    #expect(circuit.breaker.state == .halfOpen)
  }

  @Test(arguments: [0, 10] as [Int64])
  func `a half-open circuit admits exactly one probe`(cooldown: Int64) {
    let circuit = Circuit(failures: 1, cooldown: .seconds(cooldown))
    circuit.call(.failing())
    circuit.world.simulation.advance(by: .seconds(cooldown))
    let probe = circuit.call(.open("probe"))
    #expect(probe.isExecuting)
    let others = (0..<3).map { _ in circuit.call(Work()) }
    #expect(others.allSatisfy { Self.refusal($0) == .init(remaining: nil) && !$0.didExecute })
    probe.finish()
    circuit.world.simulation.run()
    #expect(circuit.breaker.state == .closed)
    #expect(circuit.call(Work()).kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a half-open circuit admits one of several simultaneous operations`(seed: UInt64) {
    let circuit = Circuit(seed: seed)
    circuit.halfOpen()
    let works = (0..<5).map { _ in Work.open() }
    for work in works {
      work.addCondition(CircuitClosed(circuit.breaker))
    }
    circuit.world.queue.addOperations(works)
    circuit.world.simulation.run()
    #expect(works.count(where: \.didExecute) == 1)
    circuit.world.finishAll(works)
    #expect(circuit.breaker.state == .closed)
  }

  @Test func `a circuit breaker is open for a whole cooldown after a failed probe`() {
    let circuit = Circuit()
    circuit.halfOpen()
    #expect(circuit.call(.failing()).didExecute)
    #expect(circuit.breaker.state == .open)
    circuit.world.simulation.advance(by: .milliseconds(9_999))
    #expect(circuit.breaker.state == .open)
    circuit.world.simulation.advance(by: .milliseconds(1))
    #expect(circuit.breaker.state == .halfOpen)
  }

  @Test func `the next operation becomes the probe if the first probe doesn't execute`() {
    let circuit = Circuit()
    circuit.halfOpen()
    let skipped = Work()
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    #expect(circuit.call(skipped).kind == .skipped)
    let failed = Work()
    failed.addCondition(Immediate(always: .failed(Flaw(1))))
    #expect(circuit.call(failed).flawNumbers == [1])
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    circuit.world.run(holder)
    let refused = Work()
    refused.addClaim(MutuallyExclusive("a", whenBusy: .fail))
    #expect(circuit.call(refused).claimError != nil)
    circuit.world.finishAll([holder])
    #expect(circuit.breaker.state == .halfOpen)
    #expect(circuit.call(Work()).kind == .succeeded)
    #expect(circuit.breaker.state == .closed)
  }

  @Test func `a half-open circuit is probed by a starting operation rather than a waiting one`() {
    let circuit = Circuit()
    circuit.halfOpen()
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    circuit.world.run(holder)
    let waiting = Work("waiting")
    waiting.addClaim(MutuallyExclusive("a"))
    circuit.call(waiting)
    let other = circuit.world.makeQueue()
    let context = Work.open("context")
    let second = Work("second")
    second.addCondition(CircuitClosed(circuit.breaker))
    other.addOperations([context, second])
    circuit.world.simulation.run()
    #expect(circuit.breaker.state == .halfOpen)
    let probe = circuit.call(.open("probe"))
    #expect(probe.isExecuting)
    // Their turns come while it tries.
    circuit.world.finishAll([holder, context])
    for late in [waiting, second] {
      #expect(Self.refusal(late) == .init(remaining: nil))
      #expect(!late.didExecute)
    }
    circuit.world.finishAll([probe])
    #expect(circuit.breaker.state == .closed)
  }

  @Test func `an operation that waited becomes the probe if no other operation probes`() {
    let circuit = Circuit()
    circuit.halfOpen()
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    circuit.world.run(holder)
    let probe = Work.open("probe")
    probe.addClaim(MutuallyExclusive("a"))
    circuit.call(probe)
    holder.finish()
    circuit.world.simulation.run()
    #expect(probe.isExecuting)
    #expect(Self.refusal(circuit.call(Work())) == .init(remaining: nil))
    circuit.world.finishAll([probe])
    #expect(circuit.breaker.state == .closed)
  }

  @Test(arguments: seeds)
  func `only one of several operations that waited for the same claim probes`(seed: UInt64) {
    let circuit = Circuit(seed: seed)
    circuit.halfOpen()
    let holder = Work.claiming("holder", MutuallyExclusive("a", limit: 1))
    circuit.world.run(holder)
    let waiting = (0..<4).map { number in
      let work = Work("waiting \(number)") { $0.finish(withError: Flaw(1)) }
      work.addClaim(MutuallyExclusive("a", limit: 1))
      circuit.call(work)
      return work
    }
    holder.finish()
    circuit.world.simulation.run()
    // The first one opens the circuit again, for all others.
    #expect(waiting.map(\.didExecute) == [true, false, false, false])
    #expect(circuit.breaker.state == .open)
  }

  @Test func `an operation that gets a dependency at its start doesn't block other probes`() {
    let circuit = Circuit()
    circuit.halfOpen()
    let late = Work.open("late")
    let asked = Counter()
    let waiting = Work("waiting")
    waiting.addCondition(
      Immediate { work in
        if asked.add() == 2 { work.addDependency(late) }
        return .satisfied
      }
    )
    circuit.call(waiting)
    #expect(asked.count == 2 && !waiting.didExecute)
    #expect(circuit.call(Work()).kind == .succeeded)
    #expect(circuit.breaker.state == .closed)
    circuit.world.run(late)
    circuit.world.finishAll([late])
    #expect(waiting.kind == .succeeded)
  }

  @Test func `a manually started operation probes a half-open circuit`() {
    let circuit = Circuit()
    circuit.halfOpen()
    let probe = Work.open("probe")
    probe.environment = circuit.world.simulation.environment
    probe.addCondition(CircuitClosed(circuit.breaker))
    probe.start()
    circuit.world.simulation.run()
    #expect(probe.isExecuting)
    #expect(Self.refusal(circuit.call(Work())) == .init(remaining: nil))
    circuit.world.finishAll([probe])
    #expect(circuit.breaker.state == .closed)
  }

  enum Asking: CaseIterable, Sendable {
    case negation, secondAlternative, call
  }

  @Test(arguments: Asking.allCases)
  func `an operation that only reads the state doesn't probe the circuit`(asking: Asking) {
    let circuit = Circuit()
    circuit.halfOpen()
    let closed = CircuitClosed(circuit.breaker)
    let work = Work.open("work")
    switch asking {
    case .negation: work.addCondition(!closed || Immediate())
    case .secondAlternative: work.addCondition(Immediate() || closed)
    case .call: work.addCondition(Immediate { closed.check($0) })
    }
    circuit.world.run(work)
    #expect(work.isExecuting)
    let probe = circuit.call(.open("probe"))
    #expect(probe.isExecuting)
    circuit.world.finishAll([work])
    #expect(circuit.breaker.state == .halfOpen)
    circuit.world.finishAll([probe])
    #expect(circuit.breaker.state == .closed)
  }

  @Test func `an operation with an alternative condition executes while another one probes`() {
    let circuit = Circuit()
    circuit.halfOpen()
    let closed = CircuitClosed(circuit.breaker)
    let works = [Work("fallback"), Work("either"), Work("neither")]
    works[0].addCondition(!closed)
    works[1].addCondition(closed || Immediate())
    works[2].addCondition(closed && Immediate())
    // All are evaluated while none tries, and wait for a slot.
    let queue = circuit.world.makeQueue()
    let holder = Work.open("holder")
    queue.addOperations([holder, works[1], works[2]])
    circuit.world.simulation.run()
    let probe = circuit.call(.open("probe"))
    circuit.world.run(works[0])
    circuit.world.finishAll([holder])
    #expect(works.map(\.didExecute) == [true, true, false])
    #expect(works.map(\.kind) == [.succeeded, .succeeded, .failed])
    circuit.world.finishAll([probe])
    #expect(circuit.breaker.state == .closed)
  }

  @Test func `the next operation probes if the first probe takes a whole cooldown`() {
    let circuit = Circuit(cooldown: .seconds(10))
    circuit.halfOpen()
    let first = circuit.call(.open("first"))
    circuit.world.simulation.advance(by: .milliseconds(9_999))
    #expect(Self.refusal(circuit.call(Work())) == .init(remaining: nil))
    circuit.world.simulation.advance(by: .milliseconds(1))
    let second = circuit.call(.open("second"))
    #expect(second.isExecuting)
    #expect(Self.refusal(circuit.call(Work())) == .init(remaining: nil))
    // The end of the first one says nothing any more.
    first.finish()
    circuit.world.simulation.advance(by: .zero)
    #expect(circuit.breaker.state == .halfOpen)
    #expect(Self.refusal(circuit.call(Work())) == .init(remaining: nil))
    second.finish(withError: Flaw(1))
    circuit.world.simulation.advance(by: .zero)
    #expect(circuit.breaker.state == .open)
  }

  @Test func `a circuit breaker without a cooldown lets a probe run as long as needed`() {
    let circuit = Circuit(failures: 1, cooldown: .zero)
    circuit.call(.failing())
    let probe = circuit.call(.open("probe"))
    circuit.world.simulation.advance(by: .seconds(1_000_000))
    #expect(Self.refusal(circuit.call(Work())) == .init(remaining: nil))
    circuit.world.finishAll([probe])
    #expect(circuit.breaker.state == .closed)
  }

  @Test func `the next operation becomes the probe if the first probe is cancelled`() {
    let circuit = Circuit()
    circuit.halfOpen()
    let probe = circuit.call(.open())
    probe.cancel()
    circuit.world.simulation.run()
    #expect(probe.kind == .cancelled)
    #expect(circuit.breaker.state == .halfOpen)
    #expect(circuit.call(.open()).isExecuting)
  }

  @Test func `a probe keeps its place even if the program has released it`() throws {
    let circuit = Circuit()
    circuit.halfOpen()
    weak var kept: Work?
    do {
      let probe = Work.open("probe")
      probe.environment = circuit.world.simulation.environment
      probe.addCondition(CircuitClosed(circuit.breaker))
      probe.start()
      circuit.world.simulation.run()
      kept = probe
    }
    #expect(Self.refusal(circuit.call(Work())) == .init(remaining: nil))
    try circuit.world.finishAll([#require(kept)])
    #expect(circuit.breaker.state == .closed)
  }

  @Test
  func `a circuit breaker counts neither cancelled operations nor operations that didn't execute`()
  {
    let circuit = Circuit(failures: 1)
    let cancelled = circuit.call(.open())
    cancelled.cancel(withError: Flaw(1))
    circuit.world.simulation.run()
    let unready = Work()
    unready.addCondition(Immediate(always: .failed(Flaw(1))))
    circuit.call(unready)
    let skipped = Work()
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    circuit.call(skipped)
    #expect(circuit.breaker.state == .closed)
  }

  @Test func `a circuit breaker counts a timeout of an executing operation as a failure`() {
    let circuit = Circuit(failures: 1)
    let slow = Work.open()
    slow.addObserver(TimeoutObserver(.seconds(5)))
    circuit.call(slow)
    circuit.world.simulation.advance(by: .seconds(5))
    #expect(slow.kind == .cancelled)
    #expect(circuit.breaker.state == .open)
    let waiting = Circuit(failures: 1)
    let late = Work()
    late.addObserver(TimeoutObserver(.seconds(5), of: .waiting))
    let before = Work.open()
    late.addDependency(before)
    waiting.call(before)
    waiting.call(late)
    waiting.world.simulation.advance(by: .seconds(5))
    #expect(late.kind == .cancelled)
    #expect(waiting.breaker.state == .closed)
  }

  private static func counting(_ failures: Int = 1) -> Circuit {
    Circuit(failures: failures) { ($0 as? Flaw)?.number != 404 }
  }

  @Test func `an error that doesn't count closes the circuit like a success`() {
    let circuit = Self.counting(2)
    for _ in 1...5 {
      circuit.call(.failing("down", 500))
      circuit.call(.failing("not found", 404))
    }
    #expect(circuit.breaker.state == .closed)
    circuit.call(.failing("down", 500))
    circuit.call(.failing("down", 500))
    #expect(circuit.breaker.state == .open)
    circuit.world.simulation.advance(by: .seconds(10))
    #expect(circuit.call(.failing("not found", 404)).didExecute)
    #expect(circuit.breaker.state == .closed)
  }

  @Test func `a circuit breaker counts a failure if one of its root causes counts`() {
    for (flaws, state) in [([404], .closed), ([404, 500], .open)]
      as [([Int], CircuitBreaker.State)]
    {
      let circuit = Self.counting()
      let group = GroupOperation(name: "group") {
        for flaw in flaws { Work.failing("child \(flaw)", flaw) }
      }
      let queue = circuit.world.queue
      let call = ResultOperation(name: "call") { try await queue.run(group) }
      call.addCondition(CircuitClosed(circuit.breaker))
      circuit.world.run(call)
      #expect(call.kind == .failed)
      #expect(circuit.breaker.state == state)
    }
  }

  @Test(arguments: [true, false])
  func `a timeout that doesn't count is neither a failure nor a success`(counts: Bool) {
    let circuit = Circuit(failures: 2) { !($0 is OperationTimeout) || counts }
    circuit.call(.failing())
    let slow = Work.open("slow")
    slow.addObserver(TimeoutObserver(.seconds(5)))
    circuit.call(slow)
    circuit.world.simulation.advance(by: .seconds(5))
    #expect(slow.kind == .cancelled)
    #expect(circuit.breaker.state == (counts ? .open : .closed))
    circuit.call(.failing())
    #expect(circuit.breaker.state == .open)
  }

  @Test func `an open circuit ignores the ends of operations that began earlier`() {
    let circuit = Circuit()
    let early = (0..<4).map { _ in circuit.call(.open()) }
    circuit.open()
    early[0].finish()
    circuit.world.simulation.advance(by: .zero)
    #expect(circuit.breaker.state == .open)
    circuit.world.simulation.advance(by: .seconds(10))
    early[1].finish()
    circuit.world.simulation.advance(by: .zero)
    early[2].finish(withError: Flaw(1))
    circuit.world.simulation.advance(by: .zero)
    #expect(circuit.breaker.state == .halfOpen)
    let probe = circuit.call(.open())
    early[3].finish()
    circuit.world.simulation.advance(by: .zero)
    #expect(circuit.breaker.state == .halfOpen)
    circuit.world.finishAll([probe])
    #expect(circuit.breaker.state == .closed)
  }

  @Test(arguments: [0, 1, 2, 3])
  func `a circuit breaker observes operations even if its condition is nested`(nesting: Int) {
    let circuit = Circuit(failures: 1)
    let closed = CircuitClosed(circuit.breaker)
    let conditions: [any OperationCondition] = [
      closed, Immediate() && closed, SilentCondition(closed || Immediate()), !(!closed),
    ]
    let work = Work.failing()
    work.addCondition(conditions[nesting])
    circuit.world.run(work)
    #expect(circuit.breaker.state == .open)
  }

  @Test func `a circuit breaker counts an operation once even if it is attached repeatedly`() {
    let circuit = Circuit(failures: 2)
    let work = Work.failing()
    work.addObserver(circuit.breaker)
    work.addCondition(CircuitClosed(circuit.breaker))
    work.addCondition(CircuitClosed(circuit.breaker))
    work.addObserver(circuit.breaker)
    circuit.world.run(work)
    work.addObserver(circuit.breaker)
    #expect(circuit.breaker.state == .closed)
    circuit.call(.failing())
    #expect(circuit.breaker.state == .open)
  }

  @Test func `a circuit that opened refuses an operation that waited for a slot`() {
    let circuit = Circuit(failures: 1)
    circuit.world.queue.maxConcurrentOperationCount = 1
    let first = circuit.call(.open("first"))
    let second = circuit.call(Work("second"))
    first.finish(withError: Flaw(1))
    circuit.world.simulation.advance(by: .zero)
    #expect(Self.refusal(second) != nil)
    #expect(!second.didExecute)
  }

  @Test(.watched) func `a circuit breaker on threads admits one probe at a time`() async throws {
    let domain = ClaimDomain()
    let queue = AdvancedOperationQueue(environment: OperationEnvironment(claimDomain: domain))
    queue.maxConcurrentOperationCount = 8
    let breaker = CircuitBreaker(failures: 1, cooldown: .zero)
    let first = Work.failing()
    first.addCondition(CircuitClosed(breaker))
    queue.addOperation(first)
    try await queue.untilAllOperationsAreFinished()
    let inside = Counter()
    let works = (0..<500).map { number in
      let work = Work { work in
        inside.add()
        inside.add(-1)
        work.finish(withError: Flaw(number))
      }
      work.addCondition(CircuitClosed(breaker))
      return work
    }
    queue.addOperations(works)
    try await queue.untilAllOperationsAreFinished()
    #expect(inside.peak == 1)
    #expect(breaker.state == .halfOpen)
  }
}
