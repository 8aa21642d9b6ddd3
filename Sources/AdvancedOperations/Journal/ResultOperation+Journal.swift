import CoreOperations

// In a journal, an operation that has a value.
extension ResultOperation where Output: Codable {
  /// Creates an operation whose value is recorded in a journal, and taken from there after a
  /// restart.
  ///
  /// ```swift
  /// let build = ResultOperation(key: "build", journal: journal) { try await compile("app") }
  /// ```
  ///
  /// When its dependencies have ended, however they did, the operation looks its value up:
  ///
  /// - When the journal has the value, the operation succeeds with it. Nothing of it is executed or
  ///   evaluated: not the body, nor interceptors, conditions or their helpers; it takes no claim
  ///   and no slot, and its observers hear of the end and of no start.
  ///   ``AdvancedOperation/isFromJournal`` is true then.
  /// - When the journal has no value, everything is as without a journal, up to the moment at which
  ///   the body has returned. Then the value is recorded, while the operation is still executing
  ///   and holds its slot and claims; observers, dependents and ``value`` see its end after that.
  /// - When the journal throws, the operation fails with an ``OperationJournalError``: without
  ///   having run if the value could not be looked up; with the work done if it could not be
  ///   recorded. The body isn't run again for that, whatever the `retry` says.
  ///
  /// A failure, a skip, and a cancel aren't recorded. A cancel that comes before the body has
  /// returned drops what it still returns, which may be a part of the value. One that comes later
  /// lets the journal go on: the operation waits for it and ends as cancelled, and its value is in
  /// the journal.
  ///
  /// Conditions aren't asked before the journal was: one that may refuse early, such as
  /// ``DependencyRule``, is asked when all dependencies have ended. Nor does the operation fail with
  /// an input before that, because the journal may have its value. Looking up belongs to the state
  /// ``AdvancedOperation/State-swift.enum/evaluatingConditions``. Time limits of attempts, and that
  /// of all attempts together, don't count what the journal takes; a ``TimeoutObserver`` does.
  ///
  /// - Parameters:
  ///   - name: What the operation is called; the key unless given.
  ///   - key: What its value is called in the journal; see ``OperationJournal`` about keys.
  ///   - journal: Keeps the value. Retained until the operation finished.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Runs in a task of its own; what it throws is an error of the operation. Released
  ///     when the operation finished.
  public convenience init(
    name: String? = nil,
    key: String,
    journal: some OperationJournal,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable () async throws -> Output
  ) {
    self.init(name: name ?? key, retry: retry, body: body)
    use(JournalEntry(key, in: journal, of: Output.self))
  }

  /// Creates an operation that gets the values of others, and whose own is recorded in a journal.
  ///
  /// It depends on them. When its own value is in the journal it takes that, whatever has become of
  /// the others; if not, it fails or is skipped with them. For the rest see
  /// ``init(name:key:journal:retry:body:)-(_,_,_,_,()->Output)``.
  ///
  /// ```swift
  /// let image = ResultOperation(key: "image", journal: journal, after: app, base) { app, base in
  ///   try await layers(of: base, and: app)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the operation is called; the key unless given.
  ///   - key: What its value is called in the journal.
  ///   - journal: Keeps the value.
  ///   - first: Gives the first value.
  ///   - inputs: Give the others.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Gets the values in this order.
  public convenience init<First: Sendable, each Input: Sendable>(
    name: String? = nil,
    key: String,
    journal: some OperationJournal,
    after first: ResultOperation<First>,
    _ inputs: repeat ResultOperation<each Input>,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable (First, repeat each Input) async throws -> Output
  ) {
    self.init(name: name ?? key, after: first, repeat each inputs, retry: retry, body: body)
    use(JournalEntry(key, in: journal, of: Output.self))
  }

  /// Creates an operation that gets the values of any number of others, and whose own is recorded
  /// in a journal.
  ///
  /// It depends on them. When its own value is in the journal it takes that, whatever has become of
  /// the others; if not, it fails or is skipped with them. For the rest see
  /// ``init(name:key:journal:retry:body:)-(_,_,_,_,()->Output)``.
  ///
  /// - Parameters:
  ///   - name: What the operation is called; the key unless given.
  ///   - key: What its value is called in the journal.
  ///   - journal: Keeps the value.
  ///   - inputs: Give the values; one that stands there twice gives its value twice.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Gets the values in the order of the inputs.
  public convenience init<Input: Sendable>(
    name: String? = nil,
    key: String,
    journal: some OperationJournal,
    afterAll inputs: [ResultOperation<Input>],
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable ([Input]) async throws -> Output
  ) {
    self.init(name: name ?? key, afterAll: inputs, retry: retry, body: body)
    use(JournalEntry(key, in: journal, of: Output.self))
  }
}

// In a journal, an operation that has none.
extension ResultOperation where Output == Void {
  /// Creates an operation without a value of which a journal records that it has succeeded.
  ///
  /// What is recorded is `true`. For the rest see
  /// ``init(name:key:journal:retry:body:)-(_,_,_,_,()->Output)``.
  ///
  /// - Parameters:
  ///   - name: What the operation is called; the key unless given.
  ///   - key: What it is called in the journal.
  ///   - journal: Keeps that it was done.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Runs in a task of its own; what it throws is an error of the operation.
  public convenience init(
    name: String? = nil,
    key: String,
    journal: some OperationJournal,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable () async throws -> Void
  ) {
    self.init(name: name ?? key, retry: retry, body: body)
    use(JournalEntry(key, in: journal))
  }

  /// Creates an operation without a value that gets those of others, and of which a journal records
  /// that it has succeeded.
  ///
  /// What is recorded is `true`. For the rest see
  /// ``init(name:key:journal:after:_:retry:body:)-(_,_,_,_,_,_,(First,Input)->Output)``.
  ///
  /// - Parameters:
  ///   - name: What the operation is called; the key unless given.
  ///   - key: What it is called in the journal.
  ///   - journal: Keeps that it was done.
  ///   - first: Gives the first value.
  ///   - inputs: Give the others.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Gets the values in this order.
  public convenience init<First: Sendable, each Input: Sendable>(
    name: String? = nil,
    key: String,
    journal: some OperationJournal,
    after first: ResultOperation<First>,
    _ inputs: repeat ResultOperation<each Input>,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable (First, repeat each Input) async throws -> Void
  ) {
    self.init(name: name ?? key, after: first, repeat each inputs, retry: retry, body: body)
    use(JournalEntry(key, in: journal))
  }

  /// Creates an operation without a value that gets those of any number of others, and of which a
  /// journal records that it has succeeded.
  ///
  /// What is recorded is `true`. For the rest see
  /// ``init(name:key:journal:afterAll:retry:body:)-(_,_,_,_,_,([Input])->Output)``.
  ///
  /// - Parameters:
  ///   - name: What the operation is called; the key unless given.
  ///   - key: What it is called in the journal.
  ///   - journal: Keeps that it was done.
  ///   - inputs: Give the values; one that stands there twice gives its value twice.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Gets the values in the order of the inputs.
  public convenience init<Input: Sendable>(
    name: String? = nil,
    key: String,
    journal: some OperationJournal,
    afterAll inputs: [ResultOperation<Input>],
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable ([Input]) async throws -> Void
  ) {
    self.init(name: name ?? key, afterAll: inputs, retry: retry, body: body)
    use(JournalEntry(key, in: journal))
  }
}

extension ResultOperation {
  /// Makes an operation that gets this one's value, and whose own is recorded in a journal.
  ///
  /// The new operation depends on this one, and is in no queue yet. When its own value is in the
  /// journal it takes that, whatever has become of this one; if not, it fails or is skipped with
  /// this one. For the rest see ``init(name:key:journal:retry:body:)-(_,_,_,_,()->Output)``.
  ///
  /// - Parameters:
  ///   - name: What the new operation is called; the key unless given.
  ///   - key: What its value is called in the journal.
  ///   - journal: Keeps the value.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Gets the value.
  /// - Returns: The new operation.
  public final func then<Next: Codable & Sendable>(
    name: String? = nil,
    key: String,
    journal: some OperationJournal,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable (Output) async throws -> Next
  ) -> ResultOperation<Next> {
    ResultOperation<Next>(
      name: name,
      key: key,
      journal: journal,
      after: self,
      retry: retry,
      body: body
    )
  }

  /// Makes an operation without a value that gets this one's, and of which a journal records that
  /// it has succeeded.
  ///
  /// What is recorded is `true`. For the rest see
  /// ``then(name:key:journal:retry:body:)-(_,_,_,_,(Output)->Next)``.
  ///
  /// - Parameters:
  ///   - name: What the new operation is called; the key unless given.
  ///   - key: What it is called in the journal.
  ///   - journal: Keeps that it was done.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Gets the value.
  /// - Returns: The new operation.
  public final func then(
    name: String? = nil,
    key: String,
    journal: some OperationJournal,
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable (Output) async throws -> Void
  ) -> ResultOperation<Void> {
    ResultOperation<Void>(
      name: name,
      key: key,
      journal: journal,
      after: self,
      retry: retry,
      body: body
    )
  }

  /// Gives the operation its place in a journal; once, while initialising.
  fileprivate final func use(_ entry: JournalEntry) {
    withWork { $0.use(entry) }
    withCore { $0.isJournaled = true }
  }
}

extension AdvancedOperation {
  /// Whether the operation succeeded with a value that it found in its ``OperationJournal``.
  ///
  /// True from the decision of its end on, so that observers can tell it from one that has run:
  /// neither its body nor anything around it has. False for all others, also for one whose value
  /// was found and that was cancelled before its end was decided.
  ///
  /// ```swift
  /// build.onFinish { operation, _ in
  ///   if operation.isFromJournal { print("\(operation.name ?? ""): done before") }
  /// }
  /// ```
  public final var isFromJournal: Bool { withCore { $0.machine.endedWithKnownValue } }

  /// The key of the operation in its journal; nil without one, and once it has finished.
  package final var journalKey: String? { journalEntry?.key }

  /// The value of an operation that has succeeded; nil for one that gives none.
  package final var erasedValue: (any Sendable)? { output }

  /// Looks the value up; conditions are evaluated if it isn't there.
  final func lookUp(_ entry: JournalEntry) {
    evaluate([]) { operation in
      do throws(OperationJournalError) {
        guard let value = try await entry.value() else { return .notRecorded }
        operation.restore(value)
        operation.registerRollbacks()
        return .decided(.valueKnown)
      } catch {
        let element = OperationFailure.Element(origin: .body, error: error)
        return .decided(.failed([element]))
      }
    }
  }

  /// The value isn't recorded: the conditions are evaluated as if there were no journal.
  final func evaluateUnrecorded() {
    var task: Task<Void, Never>?
    let evaluation = withCore { core -> ConditionEvaluation? in
      swap(&task, &core.makeExtra().evaluation.task)
      return core.machine.state == .evaluatingConditions ? core.evaluation : nil
    }
    guard let evaluation else { return }
    if evaluation.conditions.isEmpty { return resume(evaluate(evaluation)) }
    // As a worker would: this may be the thread of the journal.
    environment.enqueue { self.resume(self.evaluate(evaluation)) }
  }
}
