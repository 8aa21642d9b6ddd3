import AdvancedOperations
import CoreOperations

/// The lines of a log, or only its last lines, with a fingerprint of all lines.
struct SimulationLog {
  private var kept: [String] = []
  /// The number of all lines.
  private(set) var count = 0
  /// The fingerprint of all lines.
  private(set) var fingerprint = Fingerprint()
  /// The number of lines to keep; nil for all.
  private(set) var limit: Int?

  init(limit: Int?) { self.limit = limit }

  /// - Complexity: O(1), amortized.
  mutating func append(_ line: String) {
    count += 1
    fingerprint.add(line)
    if limit == 0 { return }
    kept.append(line)
    shorten(allowing: 2)
  }

  mutating func keep(_ limit: Int?) {
    self.limit = limit
    shorten(allowing: 1)
  }

  /// Releases all lines; later lines are only counted.
  mutating func clear() {
    kept = []
    limit = 0
  }

  /// Removes old lines if the number of lines has reached the limit times a factor.
  ///
  /// With a factor of 2, lines move to the front of the array only after as many lines have been
  /// added.
  private mutating func shorten(allowing factor: Int) {
    guard let limit, kept.count >= limit.multipliedReportingOverflow(by: factor).partialValue,
      kept.count > limit
    else { return }
    kept.removeFirst(kept.count - limit)
  }

  /// The lines that are kept.
  var lines: ArraySlice<String> { kept.suffix(limit ?? .max) }
  /// The number of earlier lines that are not kept.
  var leftOffCount: Int { count - lines.count }

  /// Returns a log with only a number of first lines; this log has to keep all lines.
  func prefix(_ count: Int) -> SimulationLog {
    var log = SimulationLog(limit: nil)
    for line in lines.prefix(count) { log.append(line) }
    return log
  }

  /// Returns the lines after a number of first lines, as far as they are kept.
  func lines(from count: Int) -> [String] { Array(lines.dropFirst(max(0, count - leftOffCount))) }

  var text: String {
    let lines = lines.map { $0 + "\n" }.joined()
    guard leftOffCount > 0 else { return lines }
    return "(\(counted(leftOffCount, "earlier line")) left off, see logLimit)\n" + lines
  }
}

/// A tracer that notifies a simulation of the states of operations.
final class SimulationTracer: OperationTracer {
  let simulation: Simulation

  init(simulation: Simulation) { self.simulation = simulation }

  func operation(_ operation: AdvancedOperation, entered state: AdvancedOperation.State) {
    let outcome =
      state == .finished ? (operation.outcome.map { ", \($0.kind.rawValue)" } ?? "") : ""
    let label = operation.label
    let begunKey = state == .executing ? operation.journalKey : nil
    simulation.withState { simulation in
      let name = simulation.names.record(of: operation, label: label).name
      simulation.note("\(name): \(state)\(outcome)")
      if let begunKey { simulation.begunKeys.insert(begunKey) }
    }
    simulation.entered(state, operation)
  }

  func operationWillEnqueue(_ operation: AdvancedOperation) { simulation.willEnqueue(operation) }

  func delayOfBody(of operation: AdvancedOperation) -> Duration? {
    simulation.delayOfBody(of: operation)
  }

  func operationBecomesIdle(
    _ operation: AdvancedOperation,
    _ giveBack: @escaping @Sendable () -> Void
  ) {
    // If the test makes the call, outside of a step, the effects of the call are complete when it
    // returns.
    guard StepContext.isStep(of: simulation) else { return giveBack() }
    let label = operation.label
    simulation.withState { simulation in
      let subject = simulation.names.record(of: operation, label: label).subject
      simulation.append(
        .init(
          work: .work(giveBack),
          name: "quiet of \(subject.name)",
          subject: subject,
          identity: Fingerprint(.becomeIdle, of: subject.number)
        )
      )
    }
  }
}

extension Simulation {
  /// Returns the simulation of an operation; nil if the operation isn't in a simulation.
  static func of(_ operation: AdvancedOperation) -> Simulation? {
    (operation.environment.tracer as? SimulationTracer)?.simulation
  }

  /// Returns the record of an operation.
  func record(of operation: Operation) -> WatchedOperation {
    let label = operation.label
    return withState { $0.names.record(of: operation, label: label) }
  }
}
