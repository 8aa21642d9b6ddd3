/// A run of a workflow that an explorer stops after a number of steps.
struct SteppedRun {
  let simulation: SimulatedEnvironment
  /// The number of steps that the explorer has taken.
  private(set) var stepCount = 0

  init(_ simulation: SimulatedEnvironment) { self.simulation = simulation }

  /// Takes one step; returns whether there was one.
  mutating func step() -> Bool {
    guard simulation.step() else { return false }
    stepCount += 1
    return true
  }

  /// Takes steps until the run has that many, or nothing can happen any more.
  mutating func proceed(upTo limit: Int) { while stepCount < limit, step() {} }

  /// Says that the closure of a test has run the simulation itself; nil if it hasn't.
  ///
  /// Steps that the closure takes are steps after which an explorer can't stop.
  ///
  /// - Parameters:
  ///   - explorer: The name of the function that takes the steps.
  ///   - purpose: Why it takes them, as the end of a sentence.
  /// - Returns: A clause about “the closure”, and a sentence with advice.
  func remark(aboutRunBefore explorer: String, _ purpose: String) -> String? {
    guard let call = simulation.simulation.withState({ $0.lastCall }) else { return nil }
    return "the closure ran the simulation, with \(call). Leave that out: it only makes the "
      + "operations and adds them to queues. \(explorer) takes the steps, so that \(purpose)."
  }
}
