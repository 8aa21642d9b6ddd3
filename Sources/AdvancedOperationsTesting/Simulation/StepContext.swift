import CoreOperations

/// What the step that runs on a thread is for, so that what it brings about gets its name.
final class StepContext {
  private let simulation: Simulation
  private let subject: String

  private init(_ simulation: Simulation, _ subject: String) {
    self.simulation = simulation
    self.subject = subject
  }

  private static let current = ThreadLocal<StepContext>()

  static func run(in simulation: Simulation, subject: String, _ body: () -> Void) {
    let outer = current.value
    let context = StepContext(simulation, subject)
    current.value = context
    defer { withExtendedLifetime(context) { current.value = outer } }
    body()
  }

  /// What is going on in a simulation on this thread; “outside” when that is none of its steps.
  static func subject(in simulation: Simulation) -> String {
    guard let context = current.value, context.simulation === simulation else { return "outside" }
    return context.subject
  }
}
