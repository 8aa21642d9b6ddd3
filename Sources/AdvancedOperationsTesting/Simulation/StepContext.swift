import CoreOperations

/// What the step that runs on a thread is for, so that what it brings about gets its name.
final class StepContext {
  private let simulation: Simulation
  private let subject: String
  private let task: String?
  /// The step of another simulation in which this one runs.
  private let outer: StepContext?

  private init(
    _ simulation: Simulation,
    _ subject: String,
    _ task: String?,
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
    subject: String,
    task: String? = nil,
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

  /// What is going on in a simulation on this thread; “outside” when that is none of its steps.
  static func subject(in simulation: Simulation) -> String {
    guard let context = current.value, context.simulation === simulation else { return "outside" }
    return context.subject
  }

  /// Where a job is added.
  static func place(in simulation: Simulation) -> StepPlace {
    let isInTask = unsafe withUnsafeCurrentTask { unsafe $0 != nil }
    guard let context = current.value, context.simulation === simulation else {
      return StepPlace(subject: "outside", isInTask: isInTask)
    }
    return StepPlace(subject: context.subject, task: context.task, isInTask: isInTask)
  }
}
