public import AdvancedOperations
import CoreOperations

extension SimulatedEnvironment {
  /// Whether the simulation keeps the operations that it sees, until it is released itself.
  ///
  /// The default is false. A `RetryOperation` releases an attempt that has finished, and a `RepeatOperation`
  /// releases a round. To inspect these operations after a run with ``operations(named:as:fileID:line:)``,
  /// set this property to true before the run. If it is true, a test can't observe the effects of the release
  /// of an operation.
  public var keepsOperations: Bool {
    get { simulation.withState { $0.names.keepsOperations } }
    set { simulation.keepOperations(newValue) }
  }

  /// Returns the operation with a name, among the operations that the simulation has seen.
  ///
  /// With this method, a test accesses the operations that the workflow creates itself: the attempts of a
  /// `RetryOperation`, the rounds of a `RepeatOperation`, the children of a group.
  ///
  /// ```swift
  /// try simulation.run(until: { upload.isExecuting })
  /// let part = try simulation.operation(named: "part 2", as: ResultOperation<Int>.self)
  /// part.cancel()
  /// ```
  ///
  /// A simulation has seen an operation as soon as it was added to a queue of the simulation. A simulation
  /// sees a plain `Operation` only when the operation starts. An operation that was released can't be found;
  /// see ``keepsOperations``.
  ///
  /// - Parameters:
  ///   - name: The name of the operation, or its name in the ``log`` if no operation has the name. The log
  ///     contains the second operation with the name “fetch” as “fetch #2”. If an operation has no name, its
  ///     type is its name.
  ///   - type: The type of the operation; operations of other types aren't considered.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  /// - Returns: The operation.
  /// - Throws: ``ExpectationFailure`` if the operation doesn't exist, with the names that the simulation has
  ///   seen. Throws the same error if several operations have the name and the type.
  /// - Complexity: O(n), n the number of operations that the simulation has seen.
  public func operation<Found: Operation>(
    named name: String,
    as type: Found.Type = AdvancedOperation.self,
    fileID: String = #fileID,
    line: Int = #line
  ) throws -> Found {
    let found = try operations(named: name, as: type, fileID: fileID, line: line)
    if found.count == 1 { return found[0] }
    let names = found.map { "“\(simulation.record(of: $0).name)”" }
    throw ExpectationFailure(
      "\(found.count) operations are called “\(name)”; in the log they are \(Self.list(names)). "
        + "Call operations(named:as:) for all of them, or operation(named:as:) with the name of a "
        + "later one.",
      seed: seed,
      fileID: fileID,
      line: line
    )
  }

  /// Returns the operations with a name, in the order in which the simulation has seen them.
  ///
  /// A `RetryOperation` creates one attempt after the other, and releases each attempt when it has finished.
  /// To inspect all attempts, keep them:
  ///
  /// ```swift
  /// simulation.keepsOperations = true
  /// queue.addOperation(download)
  /// simulation.run()
  /// let attempts = try simulation.operations(named: "attempt", as: ResultOperation<Int>.self)
  /// #expect(attempts.map { $0.outcome?.isSuccess } == [false, true])
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the operations, or the name of one of them in the ``log`` if no operation has the
  ///     name.
  ///   - type: The type of the operations; operations of other types aren't considered.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  /// - Returns: The operations with the name; one at least.
  /// - Throws: ``ExpectationFailure`` if the operation doesn't exist, with the names that the simulation has
  ///   seen.
  /// - Complexity: O(n), n the number of operations that the simulation has seen.
  public func operations<Found: Operation>(
    named name: String,
    as type: Found.Type = AdvancedOperation.self,
    fileID: String = #fileID,
    line: Int = #line
  ) throws -> [Found] {
    let seen = simulation.withState { $0.names.operations }.map { ($0.name, $0.operation) }
    var named = seen.filter { $0.1?.label == name }
    if named.isEmpty { named = seen.filter { $0.0 == name && $0.1 != nil } }
    let found = named.compactMap { $0.1 as? Found }
    if !found.isEmpty { return found }
    throw ExpectationFailure(
      Self.sentence(aboutMissing: name, "\(type)", named.compactMap(\.1), seen),
      seed: seed,
      fileID: fileID,
      line: line
    )
  }

  private static func sentence(
    aboutMissing name: String,
    _ type: String,
    _ others: [Operation],
    _ seen: [(name: String, operation: Operation?)]
  ) -> String {
    if let other = others.first {
      return "“\(name)” isn't of the type \(type), but of the type \(Swift.type(of: other))."
    }
    if seen.isEmpty {
      return "There is no operation “\(name)”: the simulation has had none. Add operations to a "
        + "queue that is created with AdvancedOperationQueue(environment: simulation.environment)."
    }
    let present = seen.filter { $0.operation != nil }.map { "“\($0.name)”" }
    let released = seen.filter { $0.operation == nil }.map { "“\($0.name)”" }
    var sentences = ["There is no operation “\(name)”."]
    if !present.isEmpty { sentences.append("The simulation has \(list(present)).") }
    if !released.isEmpty {
      sentences.append(
        "These were released: \(list(released)). To keep them, set keepsOperations of the "
          + "simulation to true before the run."
      )
    }
    return sentences.joined(separator: " ")
  }

  /// Lists the first ten names, and the number of further names.
  private static func list(_ names: [String]) -> String {
    names.prefix(10).joined(separator: ", ")
      + (names.count > 10 ? " and \(names.count - 10) more" : "")
  }
}

extension Simulation {
  /// Keeps the operations that the simulation has seen and will see, or releases them.
  func keepOperations(_ keeps: Bool) {
    let released = withState { state -> [Operation] in
      state.names.keepsOperations = keeps
      let seen = keeps ? state.names.operations.compactMap(\.operation) : []
      return exchange(&state.names.kept, with: seen)
    }
    withExtendedLifetime(released) {}
  }
}
