#if DEBUG
import CoreOperations
import Dispatch

/// A thread that runs a step until the step ends or is interrupted; only one of these threads runs
/// at a time.
final class SimulatedThread: Sendable {
  private struct State {
    var body: (@Sendable () -> Void)?
    var hasEnded = false
    var stepName = ""
    var subject = StepSubject.outside
  }

  private let state = Locked(State())
  private let turn = DispatchSemaphore(value: 0)
  private let turnBack = DispatchSemaphore(value: 0)
  private static let idle = Locked<[SimulatedThread]>([])

  static func take() -> SimulatedThread {
    if let thread = idle.withLock({ $0.popLast() }) { return thread }
    let thread = SimulatedThread()
    // A separate dispatch queue, whose thread runs this loop forever.
    DispatchQueue(label: "steps of simulations").async { thread.work() }
    return thread
  }

  func giveBack() { Self.idle.withLock { $0.append(self) } }

  var step: (name: String, subject: StepSubject) { state.withLock { ($0.stepName, $0.subject) } }

  /// Runs a step on the thread; returns false if the step was interrupted.
  func begin(
    _ name: String,
    _ subject: StepSubject,
    _ body: @escaping @Sendable () -> Void
  ) -> Bool {
    state.withLock { $0 = State(body: body, stepName: name, subject: subject) }
    return resume()
  }

  /// Resumes the step of the thread; returns false if the step was interrupted again.
  func resume() -> Bool {
    turn.signal()
    turnBack.wait()
    return state.withLock { $0.hasEnded }
  }

  /// Interrupts the step of the current thread: passes control to the simulation, and waits until
  /// it is resumed.
  func interrupt() {
    turnBack.signal()
    turn.wait()
  }

  private func work() {
    while true {
      turn.wait()
      let body = state.withLock { $0.body.take() }
      body?()
      state.withLock { $0.hasEnded = true }
      turnBack.signal()
    }
  }
}

extension Simulation {
  func takeInterruptibly(_ step: Step) {
    let thread: SimulatedThread
    let hasEnded: Bool
    if case .resume(let interrupted) = step.work {
      thread = interrupted
      hasEnded = thread.resume()
    } else {
      let taken = SimulatedThread.take()
      thread = taken
      hasEnded = taken.begin(step.name, step.subject) {
        let interruptible = Preemption.Thread {
          if self.mayInterrupt() { taken.interrupt() }
        }
        Preemption.run(interruptible) {
          StepContext.run(in: self, subject: step.subject, task: step.task) {
            self.perform(step.work)
          }
        }
      }
    }
    if hasEnded {
      thread.giveBack()
      return
    }
    let (name, subject) = thread.step
    withState { state in
      let identity = state.names.step(.rest, of: subject)
      let step = Step(
        work: .resume(thread),
        name: "rest of \(name)",
        subject: subject,
        identity: identity
      )
      state.append(step)
      state.resting = thread
    }
  }

  /// Returns whether the running step is interrupted here.
  private func mayInterrupt() -> Bool {
    withState { state in
      guard !state.isDiverted, state.interruptionsLeft > 0, !state.steps.isEmpty else {
        return false
      }
      state.chooser.willChoose(after: state.log.fingerprint)
      let interrupts = state.chooser.interrupts()
      state.note(Choice(index: interrupts ? 1 : 0, count: 2))
      if interrupts { state.interruptionsLeft -= 1 }
      return interrupts
    }
  }
}
#endif
