import CoreOperations

/// What the step that runs on a thread is for, so that what it brings about gets its name.
final class StepContext {
  private let simulation: Simulation
  private let subject: String
  /// The step of another simulation in which this one runs.
  private let outer: StepContext?

  private init(_ simulation: Simulation, _ subject: String, inside outer: StepContext?) {
    self.simulation = simulation
    self.subject = subject
    self.outer = outer
  }

  private static let current = ThreadLocal<StepContext>()

  static func run(in simulation: Simulation, subject: String, _ body: () -> Void) {
    let outer = current.value
    let context = StepContext(simulation, subject, inside: outer)
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
}
