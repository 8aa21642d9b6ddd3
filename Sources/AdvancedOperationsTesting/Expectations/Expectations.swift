public import AdvancedOperations

/// Expects that an operation has finished with a certain outcome.
///
/// ```swift
/// try expectOutcome(of: download, is: .failed)
/// try expectOutcome(of: parse, is: .skipped)
/// ```
///
/// - Parameters:
///   - operation: The operation.
///   - kind: The expected case of its outcome.
///   - fileID: The file of the call.
///   - line: The line of the call.
/// - Throws: ``ExpectationFailure`` if the operation has finished with another outcome. The failure
///   contains the errors of the operation. If the operation has not finished, the failure names the
///   causes of its wait, and the operations that have left the simulation.
public func expectOutcome(
  of operation: AdvancedOperation,
  is kind: OperationOutcome.Kind,
  fileID: String = #fileID,
  line: Int = #line
) throws {
  if operation.outcome?.kind == kind { return }
  throw otherOutcome(operation, "should have \(kind.sentence)", fileID, line)
}

/// Expects that an operation has succeeded, and returns its value.
///
/// ```swift
/// #expect(try expectValue(of: download) == "feed")
/// ```
///
/// - Parameters:
///   - operation: The operation.
///   - fileID: The file of the call.
///   - line: The line of the call.
/// - Returns: The value of the operation.
/// - Throws: ``ExpectationFailure`` if the operation has no value, with the same details as
///   ``expectOutcome(of:is:fileID:line:)``.
@discardableResult
public func expectValue<Output: Sendable>(
  of operation: ResultOperation<Output>,
  fileID: String = #fileID,
  line: Int = #line
) throws -> Output {
  if case .success(let value) = operation.result { return value }
  throw otherOutcome(operation, "should have a value", fileID, line)
}

/// Describes an operation that has no outcome, or another outcome than the expected one.
private func otherOutcome(
  _ operation: AdvancedOperation,
  _ expected: String,
  _ fileID: String,
  _ line: Int
) -> ExpectationFailure {
  let found =
    operation.outcome.map { "“\(operation.label)” \(expected), but: \($0)" }
    ?? "“\(operation.label)” is \(operation.state), and \(expected). \(operation.whyNotEnded)"
  let lines = [found] + operation.hints
  return ExpectationFailure(
    lines.joined(separator: "\n"),
    about: operation,
    fileID: fileID,
    line: line
  )
}

extension OperationOutcome.Kind {
  fileprivate var sentence: String {
    switch self {
    case .succeeded, .failed: rawValue
    case .cancelled, .skipped: "been \(rawValue)"
    }
  }
}

/// Expects that an operation has failed, without executing, because of a condition's error.
///
/// ```swift
/// let missing = try expectConditionFailure(of: importing, as: FileExists.Problem.self)
/// #expect(missing == .missing(path: "/no/such/file"))
/// ```
///
/// - Parameters:
///   - operation: The operation.
///   - type: The type of the condition's error.
///   - condition: The name of the condition; nil for any.
///   - fileID: The file of the call.
///   - line: The line of the call.
/// - Returns: The first error of the type, as the condition returned it.
/// - Throws: ``ExpectationFailure`` if the operation did not fail, or failed for another reason.
@discardableResult
public func expectConditionFailure<Failure: Error>(
  of operation: AdvancedOperation,
  as type: Failure.Type,
  condition: String? = nil,
  fileID: String = #fileID,
  line: Int = #line
) throws -> Failure {
  let failures = try conditionFailures(of: operation, condition, "\(type)", fileID, line)
  for case let failure as Failure in failures { return failure }
  throw otherFailure(operation, condition, "\(type)", failures, fileID, line)
}

/// Expects that an operation has failed, without executing, because of a certain error of a
/// condition.
///
/// ```swift
/// try expectConditionFailure(of: importing, is: FileExists.Problem.missing(path: "/no/such/file"))
/// ```
///
/// - Parameters:
///   - operation: The operation.
///   - error: The expected error of the condition.
///   - condition: The name of the condition; nil for any.
///   - fileID: The file of the call.
///   - line: The line of the call.
/// - Throws: ``ExpectationFailure`` if the operation did not fail, or failed for another reason.
public func expectConditionFailure<Failure: Error & Equatable>(
  of operation: AdvancedOperation,
  is error: Failure,
  condition: String? = nil,
  fileID: String = #fileID,
  line: Int = #line
) throws {
  let expected = inWords(error)
  let failures = try conditionFailures(of: operation, condition, expected, fileID, line)
  if failures.contains(where: { $0 as? Failure == error }) { return }
  throw otherFailure(operation, condition, expected, failures, fileID, line)
}

/// Returns the errors of the conditions of a failed operation.
private func conditionFailures(
  of operation: AdvancedOperation,
  _ name: String?,
  _ expected: String,
  _ fileID: String,
  _ line: Int
) throws -> [any Error] {
  guard case .failed(let failure) = operation.outcome else {
    let found =
      operation.outcome.map { "\($0)" } ?? "\(operation.state). \(operation.whyNotEnded)"
    let text =
      "A condition of “\(operation.label)” should have failed with \(expected), "
      + "but the operation is: \(found)"
    throw ExpectationFailure(
      ([text] + operation.hints).joined(separator: "\n"),
      about: operation,
      fileID: fileID,
      line: line
    )
  }
  return failure.elements.compactMap { element in
    guard case .condition(let condition)? = element.origin.path.first,
      name == nil || name == condition
    else { return nil }
    return (element.error as? OperationConditionError)?.underlying ?? element.error
  }
}

/// Describes an error with its type, because errors of different types may have the same
/// description.
private func inWords(_ error: any Error) -> String { "“\(error)” (\(type(of: error)))" }

private func otherFailure(
  _ operation: AdvancedOperation,
  _ name: String?,
  _ expected: String,
  _ failures: [any Error],
  _ fileID: String,
  _ line: Int
) -> ExpectationFailure {
  let found =
    failures.isEmpty
    ? "no such condition failed; the outcome is: \(operation.outcome.map { "\($0)" } ?? "none")"
    : "found: \(failures.map { inWords($0) }.joined(separator: ", "))"
  let condition = name.map { "Condition “\($0)”" } ?? "A condition"
  return ExpectationFailure(
    "\(condition) of “\(operation.label)” should have failed with \(expected), but \(found)",
    about: operation,
    fileID: fileID,
    line: line
  )
}

/// Expects that an observer recorded certain events in this order, and no other events.
///
/// The error contains the difference between the expected and the recorded events:
///
/// ```swift
/// try expectEvents(of: recorder, are: [.enqueued, .started, .willFinish, .finished])
/// ```
///
/// - Parameters:
///   - recorder: The observer.
///   - kinds: The kinds of the events.
///   - fileID: The file of the call.
///   - line: The line of the call.
/// - Throws: ``ExpectationFailure`` with the difference. If events may be missing because steps are
///   pending, or because an operation isn't in a simulation, the failure says so.
public func expectEvents(
  of recorder: RecordingObserver,
  are kinds: [OperationEvent.Kind],
  fileID: String = #fileID,
  line: Int = #line
) throws {
  let found = recorder.kinds
  if found == kinds { return }
  let lines = difference(from: kinds.map(\.rawValue), to: found.map(\.rawValue))
  let hint = recorder.hint.map { "\n\($0)" }.orEmpty
  throw ExpectationFailure(
    "The observer recorded other events:\n\(lines)\(hint)",
    seed: recorder.simulation?.seed,
    fileID: fileID,
    line: line
  )
}

/// Expects that no operation has left a simulation.
///
/// ```swift
/// simulation.run()
/// try expectNoStrays(in: simulation)
/// ```
///
/// - Parameters:
///   - simulation: The simulation, which has run until nothing could happen any more.
///   - fileID: The file of the call.
///   - line: The line of the call.
/// - Throws: ``ExpectationFailure`` that names the operations; see ``SimulatedEnvironment/strays``.
///   Throws the same error if steps are pending, or if nothing has run in the simulation, because
///   strays can't be detected then. A simulation that has run until a time, and has timers left,
///   meets the expectation.
public func expectNoStrays(
  in simulation: SimulatedEnvironment,
  fileID: String = #fileID,
  line: Int = #line
) throws {
  let problem: String
  let strays = simulation.strays
  if !simulation.pending.isEmpty {
    problem = simulation.simulation.sentenceAboutPending.orEmpty
  } else if simulation.simulation.progress.current.count == 0 {
    problem = Simulation.nothingHasRun
  } else if strays.isEmpty {
    return
  } else {
    problem = strays.map(\.description).joined(separator: "\n")
  }
  throw ExpectationFailure(problem, seed: simulation.seed, fileID: fileID, line: line)
}

/// Expects that each injected fault has happened to an operation.
///
/// A fault doesn't happen if no operation has its name, or if you inject it after the operation has
/// passed the state. A fault doesn't happen either if it changes nothing. Examples are the cancel
/// of a cancelled operation, and the error of a condition that isn't evaluated because the value
/// comes from the journal. Without this expectation, the test would pass although it hasn't tested
/// the fault.
///
/// ```swift
/// try simulation.inject(.error(Offline()), into: "download", at: .executing)
/// queue.addOperations([download, parse])
/// simulation.run()
/// try expectFaultsHappened(in: simulation)
/// ```
///
/// - Parameters:
///   - simulation: The simulation, which has run.
///   - fileID: The file of the call.
///   - line: The line of the call.
/// - Throws: ``ExpectationFailure`` that names the faults that met no operation, and the faults
///   that changed nothing.
public func expectFaultsHappened(
  in simulation: SimulatedEnvironment,
  fileID: String = #fileID,
  line: Int = #line
) throws {
  guard let sentence = simulation.simulation.sentenceAboutFaults else { return }
  throw ExpectationFailure(sentence, seed: simulation.seed, fileID: fileID, line: line)
}

extension AdvancedOperation {
  /// The causes that keep the operation from finishing, and the operations among them that have
  /// left the simulation.
  fileprivate var whyNotEnded: String {
    guard let simulation = Simulation.of(self) else {
      return "\(Simulation.sentence(aboutMissing: "It")) \(explain())"
    }
    let hint = simulation.sentenceAboutPending.map { "\($0) " }.orEmpty
    return hint + simulation.whatKeeps(self)
  }

  /// Possible reasons for another outcome than the expected one, one per line.
  fileprivate var hints: [String] {
    guard let simulation = Simulation.of(self) else { return [] }
    return [simulation.hint(aboutTimeLimitOf: self), simulation.sentenceAboutFaults]
      .compactMap { $0 }
  }
}

/// Merges two lists, one element per line: a minus marks a missing element, a plus an additional
/// element.
package func difference(from expected: [String], to found: [String]) -> String {
  let changes = found.difference(from: expected)
  var removed: Set<Int> = []
  var inserted: Set<Int> = []
  for change in changes {
    switch change {
    case .remove(let offset, _, _): removed.insert(offset)
    case .insert(let offset, _, _): inserted.insert(offset)
    }
  }
  var lines: [String] = []
  var (old, new) = (0, 0)
  while old < expected.count || new < found.count {
    if removed.contains(old) {
      lines.append("- \(expected[old])")
      old += 1
    } else if inserted.contains(new) {
      lines.append("+ \(found[new])")
      new += 1
    } else {
      lines.append("  \(expected[old])")
      old += 1
      new += 1
    }
  }
  return lines.joined(separator: "\n")
}
