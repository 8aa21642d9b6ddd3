import AdvancedOperations

/// Holds when an input was changed after the oldest of the outputs, or an output is missing:
/// `newer: {inputs: [Sources], outputs: app}`.
///
/// A folder is as new as the newest file in it, however deep. Outputs in a folder of the inputs don't
/// count as inputs. The condition holds as well when an output is unfinished.
struct NewerThan: OperationCondition {
  let inputs: [ConditionText]
  let outputs: [ConditionText]
  /// What a step that hasn't succeeded may have written.
  var unfinished: UnfinishedOutputs?

  var name: String { "newer" }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    do { return try answer() } catch { return .failed(error) }
  }

  private func answer() throws -> OperationConditionResult {
    let outputs = try outputs.map { try $0() }
    let own = Set(outputs.map(\.absolute))
    var newest: FileTime?
    // All of them, also when an output is missing: an input that isn't there is a mistake.
    for input in inputs {
      let path = try input()
      guard let time = try FileTime.newest(at: path, except: own) else {
        throw MissingInput(path: path)
      }
      newest = max(newest ?? time, time)
    }
    var oldest: (time: FileTime, path: String)?
    for path in outputs {
      if unfinished?.contains(path) == true { return .satisfied }
      guard let time = try FileTime.newest(at: path) else { return .satisfied }
      if oldest.map({ time < $0.time }) ?? true { oldest = (time, path) }
    }
    guard let newest, let oldest else { return .satisfied }
    if newest > oldest.time { return .satisfied }
    return .failed(ConditionProblem("\(oldest.path) is up to date"))
  }

  /// There is no such file to compare with.
  struct MissingInput: Error, CustomStringConvertible {
    let path: String
    var description: String { "\(FileTime.absence(of: path)), one of the inputs of ‘newer’" }
  }
}
