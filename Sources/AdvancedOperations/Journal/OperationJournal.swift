/// Keeps values of operations, so that what was done before a restart isn't done again.
///
/// Call ``ResultOperation/recorded(as:in:)-2hb34`` on an operation to give it a key and a journal.
/// The operation looks its value up before it does anything else. If the value is there, the
/// operation succeeds with it. If not, the operation runs, and records its value before it finishes:
///
/// ```swift
/// let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)
/// let pack = build.then { binary in try await archive(binary) }
///   .recorded(as: "pack", in: journal)
/// ```
///
/// <doc:SurvivingARestart> shows what a restart finds, and what a key and a body have to be like.
///
/// The journal chooses where and how values are kept: lines in a file, rows in a database. It is a
/// place for values that are small: names of files rather than their contents. A file of lines
/// takes an actor with these two methods:
///
/// ```swift
/// actor FileJournal: OperationJournal {
///   private struct Line<Value: Codable>: Codable {
///     let key: String
///     let value: Value
///   }
///   private struct Key: Codable { let key: String }
///
///   private let file: FileHandle
///   private var lines: [String: Data] = [:]
///
///   init(path: String) throws {
///     if !FileManager.default.fileExists(atPath: path) {
///       try Data().write(to: URL(filePath: path))
///     }
///     file = try FileHandle(forUpdating: URL(filePath: path))
///     let data = try file.readToEnd() ?? Data()
///     // What follows the last line break is a line that a crash has cut short.
///     let end = data.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
///     try file.truncate(atOffset: UInt64(end))
///     for line in data[..<end].split(separator: UInt8(ascii: "\n")) {
///       lines[try JSONDecoder().decode(Key.self, from: line).key] = line
///     }
///   }
///
///   func value<Value: Codable & Sendable>(of type: Value.Type, for key: String) throws -> Value? {
///     guard let line = lines[key] else { return nil }
///     return try JSONDecoder().decode(Line<Value>.self, from: line).value
///   }
///
///   func record<Value: Codable & Sendable>(_ value: Value, for key: String) throws {
///     let line = try JSONEncoder().encode(Line(key: key, value: value))
///     try file.write(contentsOf: line + [UInt8(ascii: "\n")])
///     try file.synchronize()
///     lines[key] = line
///   }
/// }
/// ```
///
/// What is recorded is that an operation has succeeded. A failure, a skip and a cancel are not:
/// such an operation runs again. A process can end between the effect of a body and the end of
/// ``record(_:for:)``, so a body runs once and, after a crash, perhaps once more: at least once,
/// and not again when it is recorded. Write bodies so that a repetition does no harm.
///
/// ### Keys
///
/// A key names a piece of work, in one journal, for as long as the journal is kept: it has to be
/// the same after a restart, and another one for other work. When two operations have the same key,
/// the one that looks it up later gets the value of the one that was recorded before. Two that run
/// at the same time both run; this isn't noticed here, because a key is often made from data. A
/// journal had better refuse to record a key twice, by throwing an error; the one above stays
/// short.
///
/// ### What was undone
///
/// A journal doesn't know of rollbacks. A rollback that undoes what a recorded operation has done
/// has to take its record back as well, by a method of the journal, or the operation won't run
/// again. The rollback of an operation also runs if its value came from the journal.
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
  /// Called once for each operation, when its dependencies have ended and before anything else of
  /// it is looked at, in a task in which ``AdvancedOperation/current`` is the operation; never with
  /// a lock held. A cancel of the operation cancels the task, and the operation doesn't wait for
  /// its end. Operations that aren't related call this at the same time.
  ///
  /// - Parameters:
  ///   - type: What the value has to be.
  ///   - key: The key of the operation.
  /// - Returns: The value; nil if nothing is recorded under the key.
  /// - Throws: Any error if that isn't known, or what is recorded isn't such a value. The operation
  ///   fails then, without having run, with an ``OperationJournalError``.
  func value<Value: Codable & Sendable>(
    of type: Value.Type,
    for key: String
  ) async throws -> Value?

  /// Records a value under a key, and returns when a crash can't take it away any more.
  ///
  /// Called once at most for each operation, when its body has returned, whatever its number of
  /// attempts, in a task in which ``AdvancedOperation/current`` is the operation; never with a lock
  /// held. Nothing that waits for the operation goes on before this has returned. A cancel of the
  /// operation doesn't reach this task; `finish()` and `skip(reason:)` that are called from outside
  /// meanwhile end it without its value, which is recorded nonetheless. Operations that aren't
  /// related call this at the same time.
  ///
  /// - Parameters:
  ///   - value: What the body has returned; `true` for an operation without a value.
  ///   - key: The key of the operation.
  /// - Throws: Any error if the value may not have been recorded. The operation fails then, with an
  ///   ``OperationJournalError``; its body isn't run again.
  func record<Value: Codable & Sendable>(_ value: Value, for key: String) async throws
}

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

/// A journal could not look a value up, or record it.
///
/// ```swift
/// if let error = failure.first(OperationJournalError.self), error.action == .record {
///   print("\(error.key) was done, and isn't recorded")
/// }
/// ```
public struct OperationJournalError: Error, CustomStringConvertible, CustomDebugStringConvertible {
  /// What a journal is called for.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Action: Sendable, Hashable {
    /// To look a value up: the operation has not run.
    case lookUp
    /// To record a value: the body has run, and has returned the value.
    case record
  }

  /// The key of the value.
  public var key: String
  /// What the journal was called for.
  public var action: Action
  /// What the journal threw.
  public var underlying: any Error

  /// What the journal could not do, with the key, and its error.
  public var description: String {
    switch action {
    case .lookUp: "The journal can't say whether “\(key)” was done: \(underlying)"
    case .record: "“\(key)” was done, and the journal has not recorded it: \(underlying)"
    }
  }

  /// The description on one line: what stands for the error in a printed array of errors.
  public var debugDescription: String { description.inOneLine }
}
