/// A store for values of operations, so that operations aren't repeated after a restart.
///
/// Call ``ResultOperation/recorded(as:in:)-2hb34`` on an operation to assign a key and a journal. The
/// operation first looks up its value in the journal. If the journal has the value, the operation succeeds
/// with it. If not, the operation runs, and records its value before it finishes:
///
/// ```swift
/// let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)
/// let pack = build.then { binary in try await archive(binary) }
///   .recorded(as: "pack", in: journal)
/// ```
///
/// The implementation of a journal decides how values are stored, for example as lines in a file or rows in a
/// database. A journal is for small values, such as the names of files rather than their contents.
/// <doc:SurvivingARestart> has a complete journal that writes lines to a file, an example of a restart, and the
/// requirements of keys and bodies.
///
/// Only the success of an operation is recorded. After a failure, a skip or a cancel, the operation runs
/// again. A process can crash between the effect of a body and the end of ``record(_:for:)``, so the body may
/// run again after a crash. A body therefore runs at least once, and not again after its value is recorded.
/// Write bodies so that a repetition does no harm.
///
/// ### Keys
///
/// A key identifies a piece of work in a journal for as long as the journal is kept. The key has to be the
/// same after a restart, and different for other work. If two operations have the same key, the operation
/// that looks it up later gets the value that the other operation has recorded. If both run at the same time,
/// both execute. The library doesn't detect equal keys, because a key is often created from data. A journal
/// should throw an error if a key is recorded twice.
///
/// ### Rollbacks
///
/// A journal doesn't know about rollbacks. If a rollback undoes the work of a recorded operation, it also has
/// to remove the record with a method of your journal. Otherwise, the operation won't run again. The rollback
/// of an operation runs even if its value came from the journal.
///
/// ```swift
/// reserve.onRollback {
///   try await hall.release(id)
///   journal.remove("reserve")
/// }
/// ```
public protocol OperationJournal: Sendable {
  /// Looks up the value that was recorded under a key.
  ///
  /// Each operation calls the method once, when its dependencies have finished and before its inputs and
  /// conditions are evaluated. The method runs in a task in which ``AdvancedOperation/current`` is the
  /// operation, while no lock is held. If the operation is cancelled, the task is cancelled, and the
  /// operation doesn't wait for the end of the task. Unrelated operations may call the method at the same
  /// time.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - key: The key of the operation.
  /// - Returns: The value; nil if nothing is recorded under the key.
  /// - Throws: Any error if the lookup fails, or the recorded value has another type. The operation then
  ///   fails with an ``OperationJournalError``, without having run.
  func value<Value: Codable & Sendable>(
    of type: Value.Type,
    for key: String
  ) async throws -> Value?

  /// Records a value under a key, and returns when the value would survive a crash.
  ///
  /// Each operation calls the method at most once, when its body has returned, even after several attempts.
  /// The method runs in a task in which ``AdvancedOperation/current`` is the operation, while no lock is
  /// held. Dependents and code that awaits the operation don't continue before the method has returned. If
  /// the operation is cancelled, this task isn't cancelled. If `finish()` or `skip(reason:)` is called from
  /// outside in the meantime, the operation ends without its value, but the value is recorded nonetheless.
  /// Unrelated operations may call the method at the same time.
  ///
  /// - Parameters:
  ///   - value: The value that the body has returned; `true` for an operation without a value.
  ///   - key: The key of the operation.
  /// - Throws: Any error if the value may not have been recorded. The operation then fails with an
  ///   ``OperationJournalError``, and its body isn't run again.
  func record<Value: Codable & Sendable>(_ value: Value, for key: String) async throws
}

/// The place of an operation's value in a journal.
///
/// The entry knows the `Codable` type of the value, because the operation's class can't require its value to
/// be `Codable`.
final class JournalEntry: Sendable {
  /// The present activity of the journal.
  enum Phase: Sendable {
    case idle, lookingUp, recording
  }

  let key: String
  private let find: @Sendable () async throws -> (any Sendable)?
  private let keep: @Sendable (any Sendable) async throws -> Void
  private let state = Locked(Phase.idle)

  var phase: Phase { state.withLock { $0 } }

  /// Creates the entry of an operation with a value.
  init<Value: Codable & Sendable>(
    _ key: String,
    in journal: some OperationJournal,
    of type: Value.Type
  ) {
    self.key = key
    find = {
      // The lookup has two steps, because a value may be an optional itself.
      guard let value = try await journal.value(of: type, for: key) else { return nil }
      return value
    }
    keep = { output in
      guard let value = output as? Value else {
        internalError("the value of “\(key)” has another type than its journal entry")
      }
      try await journal.record(value, for: key)
    }
  }

  /// Creates the entry of an operation without a value, which records that the operation has succeeded.
  init(_ key: String, in journal: some OperationJournal) {
    self.key = key
    find = { try await journal.value(of: Bool.self, for: key).map { _ in () } }
    keep = { _ in try await journal.record(true, for: key) }
  }

  /// Looks up the value, in the task of the caller; nil if the value isn't recorded.
  func value() async throws(OperationJournalError) -> (any Sendable)? {
    state.withLock { $0 = .lookingUp }
    defer { state.withLock { $0 = .idle } }
    do { return try await find() } catch {
      throw OperationJournalError(key: key, action: .lookUp, underlying: error)
    }
  }

  /// Records the value of an operation, and waits until it is recorded, even if the operation is cancelled.
  func record(
    _ output: any Sendable,
    of operation: AdvancedOperation
  ) async throws(OperationJournalError) {
    state.withLock { $0 = .recording }
    defer { state.withLock { $0 = .idle } }
    // Recording runs in a separate task, because a cancel of the operation doesn't undo the work of its body.
    let task = Task(executorPreference: operation.environment.bodyExecutor) { [keep] in
      try await TaskContext.with(operation) { try await keep(output) }
    }
    do { try await task.value } catch {
      throw OperationJournalError(key: key, action: .record, underlying: error)
    }
  }
}

/// An error that reports that a journal failed to look up or record a value.
///
/// ```swift
/// if let error = failure.first(OperationJournalError.self), error.action == .record {
///   print("\(error.key) was done, and isn't recorded")
/// }
/// ```
public struct OperationJournalError: Error, CustomStringConvertible, CustomDebugStringConvertible {
  /// The action of a journal that failed.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Action: Sendable, Hashable {
    /// The journal failed to look up a value, and the operation has not run.
    case lookUp
    /// The journal failed to record a value after the body had run and returned the value.
    case record
  }

  /// The key of the value.
  public var key: String
  /// The action that failed.
  public var action: Action
  /// The error that the journal threw.
  public var underlying: any Error

  /// The action that failed, with the key and the journal's error.
  public var description: String {
    switch action {
    case .lookUp: "The journal failed to look up “\(key)”: \(underlying)"
    case .record: "“\(key)” was done, and the journal has not recorded it: \(underlying)"
    }
  }

  /// The description on one line, for printed arrays of errors.
  public var debugDescription: String { description.inOneLine }
}
