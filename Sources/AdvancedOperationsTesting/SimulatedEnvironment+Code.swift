public import AdvancedOperations
import CoreOperations

extension SimulatedEnvironment {
  /// Runs async code in the simulation until it has returned, and gives its value.
  ///
  /// The code is part of the simulated world: each of its parts is a step, and time moves when
  /// nothing else can happen. It may add operations to queues of the simulation, await them, and
  /// open scopes with `withOperations`, which take the environment of the simulation.
  ///
  /// ```swift
  /// let response = try simulation.run { try await handler(request) }
  /// #expect(response.status == 200)
  /// ```
  ///
  /// What the code has begun and not awaited is left as it is when it returns; ``run()`` goes on
  /// with it. The code runs on the executor of the simulation until it leaves that by itself: with
  /// `Task.sleep`, in a `Task {}` of its own or a detached task, on the main actor, or in real
  /// input and output. Sleep by the clock of the ``environment`` instead:
  /// `environment.clock.sleep(for:)`.
  ///
  /// A closure without `await` that returns a `Bool` is the condition of
  /// ``run(fileID:line:until:)`` instead, unless you use the value. Code with `await` runs once, and
  /// doesn't wait for its `Bool` to become true. The result isn't discardable, so the compiler warns
  /// about `try simulation.run { await server.hasOrder }`: use the value, as in
  /// `#expect(try simulation.run { await server.hasOrder })`.
  ///
  /// - Parameters:
  ///   - fileID: Where this is called.
  ///   - line: The line of that.
  ///   - body: The code. It finds the task-locals of the caller.
  /// - Returns: What the code returned.
  /// - Throws: What the code throws. ``ExpectationFailure`` when the code has not returned although
  ///   nothing can happen any more; it names the operation that the code waits for and what keeps
  ///   that, or else what has left the simulation. The code is cancelled. `CancellationError` when
  ///   the task that calls this is cancelled before the code has returned.
  /// - Precondition: Not called from a step, nor while another thread runs the simulation.
  public func run<Value: Sendable>(
    fileID: String = #fileID,
    line: Int = #line,
    _ body: @escaping @Sendable () async throws -> Value
  ) throws -> Value {
    let notes = WaitNotes()
    let (result, problem) = runCode("code", call: "run(_:)", noting: notes, body)
    if let result { return try result.get() }
    throw ExpectationFailure(
      "The code has not returned. " + problem,
      seed: seed,
      fileID: fileID,
      line: line
    )
  }

  /// Evaluates a condition on its own, without running the operation.
  ///
  /// A condition that has to wait does so in the simulation: it finds the simulation's clock as
  /// that of the operation, unless the operation has an environment of its own, and the operation
  /// as `AdvancedOperation.current`. The condition's prerequisite isn't run.
  ///
  /// ```swift
  /// let result = try simulation.evaluate(FileExists("/no/such/file"))
  /// #expect(!result.isSatisfied)
  /// ```
  ///
  /// - Parameters:
  ///   - condition: The condition.
  ///   - operation: The operation that the condition looks at.
  ///   - fileID: Where this is called.
  ///   - line: The line of that.
  /// - Returns: The result of `immediateResult(for:)`, or else that of `evaluate(for:)`.
  /// - Throws: ``ExpectationFailure`` when the condition has no result although nothing can happen
  ///   any more; it names what has left the simulation, and the condition's task is cancelled.
  ///   `CancellationError` when the task that calls this is cancelled first.
  /// - Precondition: Not called from a step, nor while another thread runs the simulation.
  public func evaluate(
    _ condition: any OperationCondition,
    for operation: AdvancedOperation = AdvancedOperation(),
    fileID: String = #fileID,
    line: Int = #line
  ) throws -> OperationConditionResult {
    operation.useIfUnset(environment)
    let verdict = ThreadContext.asking(operation) { condition.immediateResult(for: operation) }
    if let verdict { return verdict }
    let name = condition.name
    let (result, problem) = runCode(name, call: "evaluate(_:for:)", noting: WaitNotes()) {
      await TaskContext.with(operation) { await condition.evaluate(for: operation) }
    }
    if let result { return try result.get() }
    throw ExpectationFailure(
      "Condition “\(name)” has no result. " + problem,
      seed: seed,
      fileID: fileID,
      line: line
    )
  }

  /// Runs code until it has ended; cancels it when nothing can happen before that.
  ///
  /// - Returns: The result, or nil and why nothing happens.
  private func runCode<Value: Sendable>(
    _ name: String,
    call: String,
    noting notes: WaitNotes,
    _ body: @escaping @Sendable () async throws -> Value
  ) -> (result: Result<Value, any Error>?, problem: String) {
    let ended = Locked<Result<Value, any Error>?>(nil)
    let environment = environment
    let subject = simulation.withState { $0.names.newSubject(name) }
    let code: @Sendable () async -> Void = {
      let result: Result<Value, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      ended.withLock { $0 = result }
    }
    var task: Task<Void, Never>?
    StepContext.run(in: simulation, subject: subject) {
      task = SurroundingEnvironment.$current.withValue(environment) {
        WaitNotes.$current.withValue(notes) {
          Task(executorPreference: environment.executor as? any TaskExecutor) { await code() }
        }
      }
    }
    let end = simulation.run(until: nil, call: call) { ended.withLock { $0 != nil } }
    if let result = ended.withLock({ $0 }) { return (result, "") }
    if case .cancelled = end {
      task?.cancel()
      return (.failure(CancellationError()), "")
    }
    let problem = whyNothingHappens(awaiting: notes.awaited, by: subject)
    task?.cancel()
    return (nil, problem)
  }

  /// Why the simulation stands still, in sentences.
  ///
  /// - Parameters:
  ///   - awaited: What the code waits for, if that is known.
  ///   - subject: The code.
  /// - Returns: A line for each of them.
  private func whyNothingHappens(
    awaiting awaited: [Operation],
    by subject: StepSubject
  ) -> String {
    if !awaited.isEmpty {
      return awaited.map { operation in
        "It waits for “\(operation.label)”, and nothing can happen in the simulation any more: "
          + simulation.whatKeeps(operation)
      }.joined(separator: "\n")
    }
    if simulation.sleepsForever(subject) { return Simulation.endlessSleep }
    let strays = strays.map(\.description)
    if !strays.isEmpty { return strays.joined(separator: "\n") }
    return "Nothing can happen in the simulation any more: it waits for something that doesn't "
      + "come, or " + StrayOperation.hint
  }
}
