public import AdvancedOperations
import CoreOperations

extension SimulatedEnvironment {
  /// Runs async code in the simulation, and returns its value.
  ///
  /// The code is part of the simulation: each of its parts is a step, and time moves if no step is left. The
  /// code may add operations to queues of the simulation, and await them. A scope that it opens with
  /// `withOperations` has the environment of the simulation.
  ///
  /// ```swift
  /// let response = try simulation.run { try await handler(request) }
  /// #expect(response.status == 200)
  /// ```
  ///
  /// Operations and tasks that the code doesn't await can be unfinished when the code returns. To continue
  /// them, call ``run()``. The code runs on the executor of the simulation until it leaves the simulation.
  /// Code leaves the simulation with `Task.sleep`, in a `Task {}` that it creates, in a detached task, on the
  /// main actor, or in real input and output. Instead of `Task.sleep`, call `environment.clock.sleep(for:)`
  /// of the ``environment``.
  ///
  /// A closure without `await` that returns a `Bool` is the condition of
  /// ``run(fileID:line:until:)`` instead, unless you use the value. Code with `await` runs once, and
  /// doesn't wait for its `Bool` to become true. The result isn't discardable, so the compiler warns
  /// about `try simulation.run { await server.hasOrder }`: use the value, as in
  /// `#expect(try simulation.run { await server.hasOrder })`.
  ///
  /// - Parameters:
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  ///   - body: The code, which has the task-locals of the caller.
  /// - Returns: The value of the code.
  /// - Throws: The error of the code. Throws ``ExpectationFailure`` if nothing can happen any more and the
  ///   code has not returned; the code is cancelled then. The failure names the operation that the code waits
  ///   for, with the causes of its wait, or else the operations that have left the simulation. Throws
  ///   `CancellationError` if the calling task is cancelled before the code has returned.
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
  /// A condition that waits does so in the simulation. The operation has the environment of the simulation,
  /// unless it has another environment already. During the evaluation, the operation is
  /// `AdvancedOperation.current`. The condition's prerequisite operation isn't run.
  ///
  /// ```swift
  /// let result = try simulation.evaluate(FileExists("/no/such/file"))
  /// #expect(!result.isSatisfied)
  /// ```
  ///
  /// - Parameters:
  ///   - condition: The condition.
  ///   - operation: The operation for which the condition is evaluated.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  /// - Returns: The result of `immediateResult(for:)`, or else the result of `evaluate(for:)`.
  /// - Throws: ``ExpectationFailure`` if nothing can happen any more and the condition has no result; the
  ///   task of the condition is cancelled then. The failure names the operations that have left the
  ///   simulation. Throws `CancellationError` if the calling task is cancelled first.
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

  /// Runs code until it has returned; cancels the code if nothing can happen any more.
  ///
  /// - Returns: The result, or nil and the reason why nothing happens.
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

  /// Returns the reason why nothing can happen any more, in sentences.
  ///
  /// - Parameters:
  ///   - awaited: The operations that the code waits for, if they are known.
  ///   - subject: The subject of the code's steps.
  /// - Returns: A line for each awaited operation, or else the strays of the simulation.
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
    return "Nothing can happen in the simulation any more: it waits for an event that never "
      + "happens, or " + StrayOperation.hint
  }
}
