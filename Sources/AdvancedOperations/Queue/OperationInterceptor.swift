import CoreOperations

/// Code that runs around the bodies of operations: tracing spans, contexts of loggers,
/// transactions.
///
/// It is called in the task of the body, for each attempt, and runs the body itself. Task-locals
/// that it binds around that call are those of the body:
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
/// What happens to an operation is an observer's affair: an interceptor is called for no operation
/// that doesn't execute. It can't change the value of a body, nor make a success of one that has
/// thrown.
public protocol OperationInterceptor: Sendable {
  /// Runs the body of an operation once, and may do something before and after it.
  ///
  /// Called in the task of the body, on the executor of the body, without a lock held; the
  /// operation is `AdvancedOperation.current`. What this throws is the error of the attempt. If the
  /// body has thrown and this returns, the error of the body is that of the attempt all the same.
  /// If this returns without having called ``OperationAttempt/run()``, the attempt fails.
  ///
  /// - Parameter attempt: The operation, and the body to run.
  /// - Throws: What the body throws, or an error of its own.
  func intercept(_ attempt: OperationAttempt) async throws
}

/// One attempt of an operation that is executing, as an ``OperationInterceptor`` runs it.
public struct OperationAttempt: Sendable {
  /// The operation, which is executing.
  public let operation: AdvancedOperation
  /// The number of the attempt: 1, and more where the operation has a ``RetryPolicy`` and its body
  /// has thrown.
  public let number: Int
  let body: @Sendable () async throws -> Void

  /// Runs the rest: further interceptors, and the body.
  ///
  /// May be called in a child task, for example to end the attempt when another child task throws.
  ///
  /// - Throws: What the body or an inner interceptor throws.
  /// - Precondition: Called once at most, and has returned when the interceptor returns; a
  ///   ``RetryPolicy`` runs the body again.
  public func run() async throws { try await body() }
}

/// An interceptor has returned, and had not run the body.
struct BodyNotCalled: Error, CustomStringConvertible {
  let interceptors: [String]
  var description: String {
    "The body was not called by its interceptor (\(interceptors.joined(separator: ", ")))."
  }
}

extension AdvancedOperation {
  /// Runs an attempt of the body inside of interceptors, of which the first is the outermost.
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

/// What has become of a body that interceptors run.
private enum BodyRun<Output: Sendable>: Sendable {
  case due
  case running
  case returned(Output)
  case threw(any Error)
  /// The interceptors have returned without having run it.
  case over
}
