import AdvancedOperations
import CoreOperations

/// The steps, timers and time of one simulated world.
final class Simulation: Sendable {
  /// Something that could happen next.
  enum Step {
    case worker(@Sendable () -> Void)
    case job(UnownedJob, SimulatedExecutor)
    case timer(OperationTimer)

    var kind: String {
      switch self {
      case .worker: "worker"
      case .job: "task"
      case .timer: "timer"
      }
    }
  }

  private struct Alarm {
    let deadline: Duration
    let number: Int
    let timer: OperationTimer
  }

  private struct State {
    var generator: SplitMix64
    var now = Duration.zero
    var steps: [Step] = []
    var alarms: [Alarm] = []
    var alarmCount = 0
    var lines: [String] = []
    var isRunning = false

    mutating func note(_ line: String) { lines.append("[\(now)] \(line)") }
  }

  let seed: UInt64
  private let state: Locked<State>

  init(seed: UInt64) {
    self.seed = seed
    state = Locked(State(generator: SplitMix64(seed: seed)))
  }

  var now: Duration { state.withLock { $0.now } }
  var log: String { state.withLock { $0.lines.map { $0 + "\n" }.joined() } }

  func random() -> UInt64 { state.withLock { $0.generator.next() } }
  func note(_ line: String) { state.withLock { $0.note(line) } }
  func add(_ step: Step) { state.withLock { $0.steps.append(step) } }

  func schedule(at deadline: Duration, _ timer: OperationTimer) {
    state.withLock { state in
      state.alarmCount += 1
      state.alarms.append(Alarm(deadline: deadline, number: state.alarmCount, timer: timer))
    }
  }

  // MARK: Running

  func run(until end: Duration?) {
    let isNested = state.withLock { state in
      defer { state.isRunning = true }
      return state.isRunning
    }
    if isNested { trap("run() or advance(by:) was called from a step of the same simulation.") }
    repeat {
      while let step = pick() { take(step) }
    } while moveTime(atMost: end)
    state.withLock { $0.isRunning = false }
  }

  private func pick() -> Step? {
    state.withLock { state in
      guard !state.steps.isEmpty else { return nil }
      let index = Int(state.generator.next(below: UInt64(state.steps.count)))
      let step = state.steps.remove(at: index)
      if state.steps.isEmpty {
        state.note("step: \(step.kind)")
      } else {
        state.note("step: \(step.kind), \(index + 1) of \(state.steps.count + 1)")
      }
      return step
    }
  }

  private func take(_ step: Step) {
    switch step {
    case .worker(let body): body()
    case .job(let job, let executor):
      unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor())
    case .timer(let timer): timer.fire()
    }
  }

  /// Moves time to the next timer; returns whether there was one, or time left to pass.
  private func moveTime(atMost end: Duration?) -> Bool {
    state.withLock { state in
      state.alarms.removeAll { !$0.timer.isPending }
      let next = state.alarms.min { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
      guard let next, end.map({ next.deadline <= $0 }) ?? true else {
        if let end, state.now < end { state.now = end }
        return false
      }
      state.now = max(state.now, next.deadline)
      let due = state.alarms.filter { $0.deadline <= state.now }.sorted { $0.number < $1.number }
      state.alarms.removeAll { $0.deadline <= state.now }
      state.steps += due.map { .timer($0.timer) }
      return true
    }
  }
}

/// Turns everything that it is given into steps; for workers and for tasks.
final class SimulatedExecutor: OperationExecutor, TaskExecutor {
  private let simulation: Simulation

  init(simulation: Simulation) { self.simulation = simulation }

  func enqueue(_ worker: @escaping @Sendable () -> Void) { simulation.add(.worker(worker)) }

  func enqueue(_ job: consuming ExecutorJob) { simulation.add(.job(UnownedJob(job), self)) }

  /// A worker starts one operation, so that each start is a step.
  var operationsPerWorker: Int { 1 }
}

/// The time of a simulation.
struct SimulatedClock: OperationClock.Source {
  let simulation: Simulation

  var now: Duration { simulation.now }

  func sleep(until deadline: Duration) async throws {
    let wait = AsyncWait()
    let timer = OperationTimer { wait.finish() }
    try await wait.run { _ in
      self.simulation.schedule(at: deadline, timer)
      return true
    } unregister: { _ in
      // Or time would move to a moment at which nothing happens.
      timer.cancel()
    }
  }

  func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer {
    let timer = OperationTimer(action)
    simulation.schedule(at: deadline, timer)
    return timer
  }
}

struct SimulationTracer: OperationTracer {
  let simulation: Simulation

  func operation(_ operation: AdvancedOperation, entered state: AdvancedOperation.State) {
    let outcome = state == .finished ? (operation.outcome.map { ", \($0.word)" } ?? "") : ""
    simulation.note("\(operation.name ?? "\(type(of: operation))"): \(state)\(outcome)")
  }
}

extension OperationOutcome {
  /// The case in one word.
  var word: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .skipped: "skipped"
    }
  }
}
