import CoreOperations

/// What the step that runs on a thread is for, so that what it brings about gets its name.
final class StepContext {
  private let simulation: Simulation
  private let subject: StepSubject
  private let task: StepTask?
  /// The step of another simulation in which this one runs.
  private let outer: StepContext?

  private init(
    _ simulation: Simulation,
    _ subject: StepSubject,
    _ task: StepTask?,
    inside outer: StepContext?
  ) {
    self.simulation = simulation
    self.subject = subject
    self.task = task
    self.outer = outer
  }

  private static let current = ThreadLocal<StepContext>()

  static func run(
    in simulation: Simulation,
    subject: StepSubject,
    task: StepTask? = nil,
    _ body: () -> Void
  ) {
    let outer = current.value
    let context = StepContext(simulation, subject, task, inside: outer)
    current.value = context
    defer { withExtendedLifetime(context) { current.value = outer } }
    body()
  }

  /// Whether a step of a simulation is going on on this thread.
  static func isStep(of simulation: Simulation) -> Bool {
    var context = current.value
    while let step = context {
      if step.simulation === simulation { return true }
      context = step.outer
    }
    return false
  }

  /// The subject of the step of a simulation that runs on this thread;
  /// ``StepSubject/outside`` if no step of it does.
  static func subject(in simulation: Simulation) -> StepSubject {
    guard let context = current.value, context.simulation === simulation else { return .outside }
    return context.subject
  }

  /// Where a job is added.
  static func place(in simulation: Simulation) -> StepPlace {
    let isInTask = unsafe withUnsafeCurrentTask { unsafe $0 != nil }
    guard let context = current.value, context.simulation === simulation else {
      return StepPlace(subject: .outside, isInTask: isInTask)
    }
    return StepPlace(subject: context.subject, task: context.task, isInTask: isInTask)
  }
}
