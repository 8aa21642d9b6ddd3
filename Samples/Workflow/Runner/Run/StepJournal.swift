import AdvancedOperations

/// The journal of a run as its operations see it: the ends of steps, by their ids.
struct StepJournal: OperationJournal {
  weak let core: RunCore?

  func value<Value: Codable & Sendable>(of type: Value.Type, for key: String) -> Value? {
    core?.doneEnd(of: key) as? Value
  }

  func record<Value: Codable & Sendable>(_ value: Value, for key: String) async throws {
    guard let core, let end = value as? StepEnd else { throw CancellationError() }
    try await core.record(end, of: key)
  }
}
