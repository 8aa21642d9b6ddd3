/// The place of an operation's value in a journal.
///
/// It knows the type of the value, which the operation's class can't demand to be `Codable`.
final class JournalEntry: Sendable {
  /// What the journal is doing.
  enum Phase: Sendable {
    case idle, lookingUp, recording
  }

  let key: String
  private let find: @Sendable () async throws -> (any Sendable)?
  private let keep: @Sendable (any Sendable) async throws -> Void
  private let state = Locked(Phase.idle)

  var phase: Phase { state.withLock { $0 } }

  /// A place for values of a type.
  init<Value: Codable & Sendable>(
    _ key: String,
    in journal: some OperationJournal,
    of type: Value.Type
  ) {
    self.key = key
    find = {
      // In two steps: a value may be an optional itself.
      guard let value = try await journal.value(of: type, for: key) else { return nil }
      return value
    }
    keep = { output in
      guard let value = output as? Value else { trap("the value of “\(key)” is of another type") }
      try await journal.record(value, for: key)
    }
  }

  /// A place for the fact that an operation without a value has succeeded.
  init(_ key: String, in journal: some OperationJournal) {
    self.key = key
    find = { try await journal.value(of: Bool.self, for: key).map { _ in () } }
    keep = { _ in try await journal.record(true, for: key) }
  }

  /// Looks the value up, in the task of the caller; nil if it isn't recorded.
  func value() async throws(OperationJournalError) -> (any Sendable)? {
    state.withLock { $0 = .lookingUp }
    defer { state.withLock { $0 = .idle } }
    do { return try await find() } catch {
      throw OperationJournalError(key: key, action: .lookUp, underlying: error)
    }
  }

  /// Records the value of an operation, and waits for that whether or not it is cancelled.
  func record(
    _ output: any Sendable,
    of operation: AdvancedOperation
  ) async throws(OperationJournalError) {
    state.withLock { $0 = .recording }
    defer { state.withLock { $0 = .idle } }
    // A task of its own: a cancel of the operation doesn't undo what its body has done.
    let task = Task(executorPreference: operation.environment.bodyExecutor) { [keep] in
      try await TaskContext.with(operation) { try await keep(output) }
    }
    do { try await task.value } catch {
      throw OperationJournalError(key: key, action: .record, underlying: error)
    }
  }
}
