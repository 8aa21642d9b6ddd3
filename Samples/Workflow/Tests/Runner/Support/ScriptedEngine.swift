import AdvancedOperations
import Synchronization
import WorkflowDocument

@testable import WorkflowRunner

/// An engine whose attempts end as a script says, in the time of a simulation.
final class ScriptedEngine: StepEngine {
  /// What becomes of an attempt.
  enum Play: Sendable {
    /// It exits with a code after some time.
    case exit(Int, after: Duration = .seconds(1), outputs: [String: String] = [:])
    /// It fails after some time, and asks for a delay by this text.
    case asks(String, after: Duration = .seconds(1))
    /// Its machine goes away after some time.
    case lost(after: Duration = .seconds(1))
    /// It goes on until it is asked to end, and then takes some time for that.
    case endless(ending: Duration = .zero)
    /// It can't be started.
    case fails(String)
  }

  struct Lost: AttemptLost {
    var node: String? { "n1" }
    var description: String { "the machine n1 went away" }
  }

  struct Failure: Error, CustomStringConvertible { let description: String }

  private struct State {
    var log: [String] = []
    var attempts: [String: Int] = [:]
    var running: Set<String> = []
    var most = 0
    var isKilled = false
    var lists: [String] = []
  }

  private let state = Mutex(State())
  private let clock: OperationClock
  /// By steps; the last one is repeated.
  private let plays: [String: [Play]]
  /// What is known of attempts of an earlier runner.
  private let known: [String: StepExit]
  let hasHandles: Bool

  init(
    _ clock: OperationClock,
    _ plays: [String: [Play]] = [:],
    known: [String: StepExit] = [:],
    hasHandles: Bool = false
  ) {
    self.clock = clock
    self.plays = plays
    self.known = known
    self.hasHandles = hasHandles
  }

  var name: String { "scripted" }

  /// What was run, with times: “1 s a”; the end as “2 s a.”, that by a cancel as “2 s a!”.
  var log: [String] { state.withLock { $0.log } }
  /// What was run, without times and ends.
  var begins: [String] {
    log.filter { !$0.hasSuffix(".") && !$0.hasSuffix("!") }
      .map { String($0.split(separator: " ", maxSplits: 2).last ?? "") }
  }
  /// How many ran at the same time at most.
  var most: Int { state.withLock { $0.most } }
  var isKilled: Bool { state.withLock { $0.isKilled } }
  /// The commands that were lists, each on one line.
  var lists: [String] { state.withLock { $0.lists } }

  func kill() { state.withLock { $0.isKilled = true } }

  func run(
    _ attempt: StepAttempt,
    report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> StepExit {
    // A rollback is told from its step by its command.
    let isRollback = attempt.step.rollback != nil && attempt.command.isUndo
    if case .arguments(let words) = attempt.command {
      state.withLock { $0.lists.append(words.joined(separator: " ")) }
    }
    let name = isRollback ? "undo-\(attempt.step.id)" : attempt.step.id
    let number = state.withLock { state in
      state.attempts[name, default: 0] += 1
      state.running.insert(name)
      state.most = max(state.most, state.running.count)
      return state.attempts[name] ?? 1
    }
    note(name)
    defer { _ = state.withLock { $0.running.remove(name) } }
    let script = plays[name] ?? [.exit(0)]
    let play = script[min(number, script.count) - 1]
    if case .fails(let reason) = play { throw Failure(description: reason) }
    report(.started(node: nil, handle: hasHandles ? "\(name)-\(number)" : nil))
    do {
      switch play {
      case .exit(let code, let time, let outputs):
        try await clock.sleep(for: time)
        let lines = outputs.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }
        if !lines.isEmpty {
          try OpenFile(attempt.outputFile, OpenFile.writingAnew).write(lines.joined().utf8)
        }
        note(name + ".")
        return StepExit(.exited(code))
      case .asks(let text, let time):
        try await clock.sleep(for: time)
        if let file = attempt.retryAfterFile {
          try OpenFile(file, OpenFile.writingAnew).write(text.utf8)
        }
        note(name + ".")
        return StepExit(.exited(1))
      case .lost(let time):
        try await clock.sleep(for: time)
        throw Lost()
      case .endless, .fails:
        while true { try await clock.sleep(for: .seconds(3_600)) }
      }
    } catch is CancellationError {
      if case .endless(let ending) = play, ending > .zero {
        await end(after: ending)
      }
      note(name + "!")
      throw CancellationError()
    }
  }

  /// Waits in a task that was cancelled.
  private func end(after time: Duration) async {
    await withCheckedContinuation { continuation in
      _ = clock.schedule(at: clock.now + time) { continuation.resume() }
    }
  }

  func takeUp(
    _ attempt: StepAttempt,
    handle: String,
    report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> StepExit? {
    note("take up \(handle)")
    return known[handle]
  }

  private func note(_ text: String) {
    let now = clock.now
    state.withLock { $0.log.append("\(now.words) \(text)") }
  }
}

extension StepAttempt.Command {
  fileprivate var isUndo: Bool {
    switch self {
    case .shell(let line): line == "undo"
    case .arguments(let words): words.first == "undo"
    }
  }
}
