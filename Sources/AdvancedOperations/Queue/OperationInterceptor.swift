import CoreOperations

/// Code that runs around the bodies of operations, such as tracing spans, logger contexts or transactions.
///
/// An interceptor is called in the task of the body, once for each attempt, and runs the body itself. The
/// body sees the task-locals that the interceptor binds around that call:
///
/// ```swift
/// struct Tracing: OperationInterceptor {
///   func intercept(_ attempt: OperationAttempt) async throws {
///     let name = attempt.operation.name ?? "operation"
///     try await withSpan("\(name), attempt \(attempt.number)") { try await attempt.run() }
///   }
/// }
/// queue.addInterceptor(Tracing())
/// ```
///
/// Use an observer to follow the life of an operation, because an interceptor isn't called for an operation
/// that doesn't execute. An interceptor can't change the value of a body, or make a body succeed that has
/// thrown.
public protocol OperationInterceptor: Sendable {
  /// Runs the body of an operation once, and may run other code before and after it.
  ///
  /// This method is called in the task of the body, on the executor of the body, while no lock is held. The
  /// operation is `AdvancedOperation.current`. An error that this method throws is the error of the attempt.
  /// If the body has thrown and this method returns, the error of the body is still the error of the attempt.
  /// If this method returns without having called ``OperationAttempt/run()``, the attempt fails.
  ///
  /// - Parameter attempt: The operation, and the body to run.
  /// - Throws: The error of the body, or another error.
  func intercept(_ attempt: OperationAttempt) async throws
}

/// An attempt of an operation that is executing, as an ``OperationInterceptor`` runs it.
public struct OperationAttempt: Sendable {
  /// The operation, which is executing.
  public let operation: AdvancedOperation
  /// The number of the attempt: 1, or more if the operation has a ``RetryPolicy`` and its body has thrown.
  public let number: Int
  let body: @Sendable () async throws -> Void

  /// Runs further interceptors and the body.
  ///
  /// You may call this method in a child task, for example to end the attempt when another child task throws.
  ///
  /// - Throws: The error of the body or of an inner interceptor.
  /// - Precondition: The interceptor calls this method at most once for each attempt, and returns after this
  ///   call has returned. To run the body again, use a ``RetryPolicy``.
  public func run() async throws { try await body() }
}

/// The error of an attempt whose interceptor returned without running the body.
struct BodyNotCalled: Error, CustomStringConvertible {
  let interceptors: [String]
  var description: String {
    "The body was not called by its interceptor (\(interceptors.joined(separator: ", ")))."
  }
}

extension AdvancedOperation {
  /// Runs an attempt of the body inside interceptors, the first of which is the outermost.
  final func run<Output: Sendable>(
    _ body: @escaping @Sendable () async throws -> Output,
    attempt: Int,
    inside interceptors: [QueueAttachment<any OperationInterceptor>]
  ) async throws -> Output {
    if interceptors.isEmpty { return try await body() }
    let run = Locked(BodyRun<Output>.due)
    var chain: @Sendable () async throws -> Void = { [label] in
      let misuse = run.withLock { run -> String? in
        switch run {
        case .due:
          run = .running
          return nil
        case .over: return "after the interceptor had returned"
        case .running, .returned, .threw: return "twice in one attempt"
        }
      }
      if let misuse {
        trap(
          "An OperationInterceptor ran the body of operation “\(label)” \(misuse). "
            + "Run it once, and wait for it; a RetryPolicy runs it again."
        )
      }
      do {
        let output = try await body()
        run.withLock { $0 = .returned(output) }
      } catch {
        run.withLock { $0 = .threw(error) }
        throw error
      }
    }
    for entry in interceptors.reversed() {
      let inner = OperationAttempt(operation: self, number: attempt, body: chain)
      chain = { try await entry.value.intercept(inner) }
    }
    let error: (any Error)?
    do {
      try await chain()
      error = nil
    } catch let thrown {
      error = thrown
    }
    let end = run.withLock { run in
      let end = run
      if case .due = run { run = .over }
      return end
    }
    if case .running = end {
      trap(
        "An OperationInterceptor returned while the body of operation “\(label)” was running. "
          + "Await attempt.run() before intercept(_:) returns."
      )
    }
    if let error { throw error }
    switch end {
    case .returned(let output): return output
    case .threw(let error): throw error
    case .due, .running, .over:
      throw BodyNotCalled(interceptors: interceptors.map { "\(type(of: $0.value))" })
    }
  }
}

/// The state of a body that interceptors run.
private enum BodyRun<Output: Sendable>: Sendable {
  case due
  case running
  case returned(Output)
  case threw(any Error)
  /// The interceptors have returned without running the body.
  case over
}
