public import AdvancedOperations
import CoreOperations

/// A journal in memory, for tests of restarts and of errors of a journal.
///
/// ```swift
/// let journal = InMemoryJournal()
/// let build = ResultOperation { "app" }.recorded(as: "build", in: journal)
/// queue.addOperation(build)
/// simulation.run()
/// #expect(journal.keys == ["build"])
///
/// let beforeThat = journal.truncated(after: 0)
/// ```
///
/// The journal keeps values without encoding them. A test with this journal therefore doesn't find
/// values that change when they are encoded. A key can be recorded only once: the journal throws an
/// error if another value is recorded for it.
///
/// You can use a journal from any thread.
public final class InMemoryJournal: OperationJournal {
  /// A recorded value and its key.
  public struct Record: Sendable {
    /// The key of the value.
    public var key: String
    /// The value.
    public var value: any Codable & Sendable

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - key: The key of the value.
    ///   - value: The value.
    public init(key: String, value: any Codable & Sendable) {
      self.key = key
      self.value = value
    }
  }

  /// An error that the journal throws if a key is recorded a second time, because two operations
  /// have it.
  public struct KeyRecordedTwice: Error, Hashable, CustomStringConvertible {
    /// The key.
    public var key: String

    package init(key: String) { self.key = key }

    /// A sentence with the key.
    public var description: String {
      "There is a record of “\(key)” already. Give each operation its own key."
    }
  }

  /// An error that the journal throws if a recorded value has another type than the operation's
  /// value.
  public struct WrongType: Error, Hashable, CustomStringConvertible {
    /// The key.
    public var key: String
    /// The name of the type of the recorded value.
    public var recorded: String
    /// The name of the type of the operation's value.
    public var expected: String

    package init(key: String, recorded: String, expected: String) {
      self.key = key
      self.recorded = recorded
      self.expected = expected
    }

    /// A sentence with the key and both types.
    public var description: String {
      "The record of “\(key)” has the type \(recorded), but the operation needs \(expected)."
    }
  }

  private struct Failure {
    let error: any Error
    let isKept: Bool
  }

  private struct State {
    var records: [Record] = []
    /// The failures by the number of the record, 1 for the first record.
    var failures: [Int: Failure] = [:]
    var lookUpFailures: [String: any Error] = [:]
    var delay = Duration.zero
    /// The number of calls that recorded a value or failed to record it.
    var attemptCount = 0
  }

  private let state: Locked<State>

  /// Creates a journal.
  ///
  /// - Parameter records: The first records of the journal, in order. Of two records with the same
  ///   key, only the first is used.
  public init(_ records: [Record] = []) { state = Locked(State(records: records)) }

  // MARK: Inspecting

  /// The records of the journal, in order.
  public var records: [Record] { state.withLock { $0.records } }

  /// The keys of the records, in order.
  public var keys: [String] { records.map(\.key) }

  /// Returns a journal with the first records only, as a crash leaves it.
  ///
  /// - Parameter count: The number of records to keep; all records if there are fewer.
  /// - Returns: A new journal, which doesn't fail and has no delay.
  /// - Precondition: The number isn't negative.
  public func truncated(after count: Int) -> InMemoryJournal {
    if count < 0 {
      trap("truncated(after:) was called on an InMemoryJournal with \(count). Pass 0 or more.")
    }
    return InMemoryJournal(Array(records.prefix(count)))
  }

  // MARK: Changing

  /// Removes a record, as a rollback does.
  ///
  /// - Parameter key: The key of the record.
  /// - Returns: Whether there was a record of the key.
  @discardableResult
  public func remove(_ key: String) -> Bool {
    let old = state.withLock { state in
      let old = state.records
      state.records.removeAll { $0.key == key }
      return old.count == state.records.count ? [] : old
    }
    return !old.isEmpty
  }

  /// Makes one call of ``record(_:for:)`` throw an error.
  ///
  /// - Parameters:
  ///   - number: The number of the call, 1 for the first call since the journal was created. Calls
  ///     that threw an error are counted as well.
  ///   - error: The error to throw.
  ///   - isKept: Whether the journal records the value although the call throws, as if a disk had
  ///     written the value and then lost the confirmation.
  public func failRecord(_ number: Int, with error: any Error, isKept: Bool = false) {
    state.withLock { $0.failures[number] = Failure(error: error, isKept: isKept) }
  }

  /// Makes each look-up of a key throw an error.
  ///
  /// - Parameters:
  ///   - key: The key of the value.
  ///   - error: The error to throw.
  public func failLookUp(of key: String, with error: any Error) {
    state.withLock { $0.lookUpFailures[key] = error }
  }

  /// The time that it takes to look up or record a value; zero by default.
  ///
  /// The delay passes on the clock of the operation's environment. A value is in ``records`` after
  /// its delay. If the operation is cancelled, looking up a value ends immediately.
  public var delay: Duration {
    get { state.withLock { $0.delay } }
    set { state.withLock { $0.delay = newValue } }
  }

  // MARK: OperationJournal

  /// Returns the recorded value.
  ///
  /// - Throws: The error that was set with ``failLookUp(of:with:)``; ``WrongType`` if the value has
  ///   another type.
  public func value<Value: Codable & Sendable>(
    of type: Value.Type,
    for key: String
  ) async throws -> Value? {
    try await wait()
    let (record, error) = state.withLock { state in
      (state.records.first { $0.key == key }, state.lookUpFailures[key])
    }
    if let error { throw error }
    guard let record else { return nil }
    guard let value = record.value as? Value else {
      throw WrongType(key: key, recorded: "\(Swift.type(of: record.value))", expected: "\(type)")
    }
    return value
  }

  /// Records a value after all other values.
  ///
  /// - Throws: The error that was set with ``failRecord(_:with:isKept:)``; ``KeyRecordedTwice`` if
  ///   the key has a record.
  public func record<Value: Codable & Sendable>(_ value: Value, for key: String) async throws {
    try await wait()
    let error = state.withLock { state -> (any Error)? in
      state.attemptCount += 1
      let failure = state.failures[state.attemptCount]
      if let failure, !failure.isKept { return failure.error }
      if state.records.contains(where: { $0.key == key }) { return KeyRecordedTwice(key: key) }
      state.records.append(Record(key: key, value: value))
      return failure?.error
    }
    if let error { throw error }
  }

  private func wait() async throws {
    let delay = delay
    guard delay > .zero, let operation = AdvancedOperation.current else { return }
    try await operation.environment.clock.sleep(for: delay)
  }
}
