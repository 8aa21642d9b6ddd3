public import AdvancedOperations

/// Expects that an operation has ended in a certain way.
///
/// ```swift
/// try expectOutcome(of: download, is: .failed)
/// try expectOutcome(of: parse, is: .skipped)
/// ```
///
/// - Parameters:
///   - operation: The operation.
///   - kind: The expected case of its outcome.
///   - fileID: Where this is called.
///   - line: The line of that.
/// - Throws: ``ExpectationFailure`` when the operation has ended in another way, with its errors,
///   or has not ended, with what it waits for, and which of that has left the simulation.
public func expectOutcome(
  of operation: AdvancedOperation,
  is kind: OperationOutcome.Kind,
  fileID: String = #fileID,
  line: Int = #line
) throws {
  if operation.outcome?.kind == kind { return }
  throw otherOutcome(operation, "should have \(kind.sentence)", fileID, line)
}

/// Expects that an operation has succeeded, and gives its value.
///
/// ```swift
/// #expect(try expectValue(of: download) == "feed")
/// ```
///
/// - Parameters:
///   - operation: The operation.
///   - fileID: Where this is called.
///   - line: The line of that.
/// - Returns: The value.
/// - Throws: ``ExpectationFailure`` when the operation has ended without a value, with its errors,
///   or has not ended, with what it waits for, and which of that has left the simulation: the same
///   that ``expectOutcome(of:is:fileID:line:)`` says.
@discardableResult
public func expectValue<Output: Sendable>(
  of operation: ResultOperation<Output>,
  fileID: String = #fileID,
  line: Int = #line
) throws -> Output {
  if case .success(let value) = operation.result { return value }
  throw otherOutcome(operation, "should have a value", fileID, line)
}

/// An operation that has no outcome, or another one.
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
///   - type: The type of the error that the condition gave.
///   - condition: The name of the condition; nil for any.
///   - fileID: Where this is called.
///   - line: The line of that.
/// - Returns: The first such error, as the condition gave it.
/// - Throws: ``ExpectationFailure`` when the operation did not fail, or for other reasons.
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
///   - error: The error that the condition should have.
///   - condition: The name of the condition; nil for any.
///   - fileID: Where this is called.
///   - line: The line of that.
/// - Throws: ``ExpectationFailure`` when the operation did not fail, or for other reasons.
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

/// What the conditions of a failed operation gave as errors.
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

/// An error with its type: errors of different types may describe themselves alike.
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

/// Expects that an observer recorded certain events, in this order, and nothing else.
///
/// The error shows where the two differ:
///
/// ```swift
/// try expectEvents(of: recorder, are: [.enqueued, .started, .willFinish, .finished])
/// ```
///
/// - Parameters:
///   - recorder: The observer.
///   - kinds: The kinds of the events.
///   - fileID: Where this is called.
///   - line: The line of that.
/// - Throws: ``ExpectationFailure`` with the difference, and with what hints at why events are
///   missing: steps that are pending, or an operation that is in no simulation.
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

/// Expects that nothing has left a simulation.
///
/// ```swift
/// simulation.run()
/// try expectNoStrays(in: simulation)
/// ```
///
/// - Parameters:
///   - simulation: The simulation, which has run until nothing could happen any more.
///   - fileID: Where this is called.
///   - line: The line of that.
/// - Throws: ``ExpectationFailure`` that names the operations; see ``SimulatedEnvironment/strays``.
///   The same when steps are pending, or nothing has run in the simulation, so that nothing can be
///   said. A simulation that has run until a time, and has timers left, is taken to have no strays.
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

/// Expects that each fault that was injected has happened to an operation.
///
/// A name that no operation has injects nothing, and neither does a fault that comes after the
/// moment it is for. Nor does one happen that changes nothing: a cancel of what is cancelled, an
/// error of a condition that isn't evaluated because the value comes from the journal. The test
/// would pass, and have tested something else.
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
///   - fileID: Where this is called.
///   - line: The line of that.
/// - Throws: ``ExpectationFailure`` that names the faults which met no operation, and those which
///   changed nothing.
public func expectFaultsHappened(
  in simulation: SimulatedEnvironment,
  fileID: String = #fileID,
  line: Int = #line
) throws {
  guard let sentence = simulation.simulation.sentenceAboutFaults else { return }
  throw ExpectationFailure(sentence, seed: simulation.seed, fileID: fileID, line: line)
}

extension AdvancedOperation {
  /// What keeps the operation from ending, and what of that has left its simulation.
  fileprivate var whyNotEnded: String {
    guard let simulation = Simulation.of(self) else {
      return "\(Simulation.sentence(aboutMissing: "It")) \(explain())"
    }
    let hint = simulation.sentenceAboutPending.map { "\($0) " }.orEmpty
    return hint + simulation.whatKeeps(self)
  }

  /// What may be behind another outcome than the expected one, a line each.
  fileprivate var hints: [String] {
    guard let simulation = Simulation.of(self) else { return [] }
    return [simulation.hint(aboutTimeLimitOf: self), simulation.sentenceAboutFaults]
      .compactMap { $0 }
  }
}

/// Both lists as one, a line each: what is missing with a minus, what is too much with a plus.
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
