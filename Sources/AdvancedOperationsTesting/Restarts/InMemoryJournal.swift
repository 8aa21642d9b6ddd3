public import AdvancedOperations
import CoreOperations

/// A journal in memory: for tests of what a restart finds, and of what fails on the way.
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
/// Values are kept as they are, and not encoded: what doesn't survive its encoding isn't found by
/// this journal. A key is recorded once: another value for it is refused with an error.
///
/// Can be used from any thread.
public final class InMemoryJournal: OperationJournal {
  /// A value that was recorded, and its key.
  public struct Record: Sendable {
    /// What the value is recorded under.
    public var key: String
    /// The value.
    public var value: any Codable & Sendable

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - key: What the value is recorded under.
    ///   - value: The value.
    public init(key: String, value: any Codable & Sendable) {
      self.key = key
      self.value = value
    }
  }

  /// A key is to be recorded a second time: two operations have it.
  public struct KeyRecordedTwice: Error, Hashable, CustomStringConvertible {
    /// The key.
    public var key: String

    package init(key: String) { self.key = key }

    /// One sentence with the key.
    public var description: String {
      "There is a record of “\(key)” already. Give each operation a key of its own."
    }
  }

  /// What is recorded under a key is of another type than the operation's value.
  public struct WrongType: Error, Hashable, CustomStringConvertible {
    /// The key.
    public var key: String
    /// The name of the type that is recorded.
    public var recorded: String
    /// The name of the type that was asked for.
    public var expected: String

    package init(key: String, recorded: String, expected: String) {
      self.key = key
      self.recorded = recorded
      self.expected = expected
    }

    /// One sentence with the key and both types.
    public var description: String {
      "The record of “\(key)” is of the type \(recorded), and one of \(expected) is needed."
    }
  }

  private struct Failure {
    let error: any Error
    let isKept: Bool
  }

  private struct State {
    var records: [Record] = []
    /// By the number of the record, 1 for the first.
    var failures: [Int: Failure] = [:]
    var lookUpFailures: [String: any Error] = [:]
    var delay = Duration.zero
    /// How often something was to be recorded.
    var attemptCount = 0
  }

  private let state: Locked<State>

  /// Creates a journal.
  ///
  /// - Parameter records: What it begins with, in order; of two with the same key, the first
  ///   counts.
  public init(_ records: [Record] = []) { state = Locked(State(records: records)) }

  // MARK: Looking

  /// What is recorded, in order.
  public var records: [Record] { state.withLock { $0.records } }

  /// The keys of what is recorded, in order.
  public var keys: [String] { records.map(\.key) }

  /// Returns a journal with the first records only, as a crash leaves it.
  ///
  /// - Parameter count: The number of records that the new journal has; all if there are fewer.
  /// - Returns: A new journal, which doesn't fail and has no delay.
  /// - Precondition: The number isn't negative.
  public func truncated(after count: Int) -> InMemoryJournal {
    if count < 0 {
      trap("truncated(after:) was called on an InMemoryJournal with \(count). Pass 0 or more.")
    }
    return InMemoryJournal(Array(records.prefix(count)))
  }

  // MARK: Changing

  /// Takes a record back, as a rollback does.
  ///
  /// - Parameter key: What it was recorded under.
  /// - Returns: Whether there was one.
  @discardableResult
  public func remove(_ key: String) -> Bool {
    let old = state.withLock { state in
      let old = state.records
      state.records.removeAll { $0.key == key }
      return old.count == state.records.count ? [] : old
    }
    return !old.isEmpty
  }

  /// Makes the journal throw when a value is to be recorded.
  ///
  /// - Parameters:
  ///   - number: The number of the record at which it does, 1 for the first, counting those that
  ///     fail.
  ///   - error: What it throws.
  ///   - isKept: Whether the value is recorded all the same, as when a disk loses only the answer.
  public func failRecord(_ number: Int, with error: any Error, isKept: Bool = false) {
    state.withLock { $0.failures[number] = Failure(error: error, isKept: isKept) }
  }

  /// Makes the journal throw when a value is looked up.
  ///
  /// - Parameters:
  ///   - key: What it is looked up by.
  ///   - error: What the journal throws.
  public func failLookUp(of key: String, with error: any Error) {
    state.withLock { $0.lookUpFailures[key] = error }
  }

  /// How long it takes to look a value up, or to record one; zero unless set.
  ///
  /// By the clock of the operation's environment. A value is in ``records`` when its time has
  /// passed. A cancel ends looking up at once.
  public var delay: Duration {
    get { state.withLock { $0.delay } }
    set { state.withLock { $0.delay = newValue } }
  }

  // MARK: OperationJournal

  /// Gives the value that was recorded.
  ///
  /// - Throws: What ``failLookUp(of:with:)`` says; ``WrongType`` if the value isn't of the type.
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

  /// Records a value behind all others.
  ///
  /// - Throws: What ``failRecord(_:with:isKept:)`` says; ``KeyRecordedTwice``.
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
