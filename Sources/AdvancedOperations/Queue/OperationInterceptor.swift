import CoreOperations

/// Code that runs around the bodies of operations: tracing spans, contexts of loggers,
/// transactions.
///
/// It is called in the task of the body, for each attempt, and calls the body itself. Task-locals
/// that it binds around that call are those of the body:
///
/// ```swift
/// struct Tracing: OperationInterceptor {
///   func intercept(
///     _ operation: AdvancedOperation,
///     attempt: Int,
///     body: @Sendable () async throws -> Void
///   ) async throws {
///     try await withSpan("\(operation.name ?? "operation"), attempt \(attempt)") {
///       try await body()
///     }
///   }
/// }
/// queue.addInterceptor(Tracing())
/// ```
///
/// The method is written as above in every module. (A module with the upcoming feature
/// `NonisolatedNonsendingByDefault` gives the closure another type by the same words; that is the
/// method of ``CallerIsolatedInterceptor``, and one of the two is enough.)
///
/// What happens to an operation is an observer's affair: an interceptor is called for no operation
/// that doesn't execute. It can't change the value of a body, nor make a success of one that has
/// thrown.
public protocol OperationInterceptor: CallerIsolatedInterceptor {
  /// Runs the body of an operation once, and may do something before and after it.
  ///
  /// Called in the task of the body, on the executor of the body, without a lock held; the
  /// operation is `AdvancedOperation.current`. What this throws is the error of the attempt. If the
  /// body has thrown and this returns, the error of the body is that of the attempt all the same.
  /// If this returns without having called the body, the attempt fails.
  ///
  /// - Parameters:
  ///   - operation: The operation, which is executing.
  ///   - attempt: The number of the attempt: 1, and more where the operation has a ``RetryPolicy``
  ///     and its body has thrown.
  ///   - body: The rest: further interceptors, and the body.
  /// - Throws: What the body throws, or an error of its own.
  /// - Precondition: `body` is called once at most; a ``RetryPolicy`` runs it again.
  func intercept(
    _ operation: AdvancedOperation,
    attempt: Int,
    body: @concurrent @Sendable () async throws -> Void
  ) async throws
}

/// The same interceptor with a closure that runs where its caller does; see
/// ``OperationInterceptor``.
public protocol CallerIsolatedInterceptor: Sendable {
  /// Does what the method of ``OperationInterceptor`` does.
  ///
  /// - Parameters:
  ///   - operation: The operation, which is executing.
  ///   - attempt: The number of the attempt.
  ///   - body: The rest: further interceptors, and the body.
  /// - Throws: What the body throws, or an error of its own.
  /// - Precondition: `body` is called once at most; a ``RetryPolicy`` runs it again.
  func intercept(
    _ operation: AdvancedOperation,
    attempt: Int,
    body: nonisolated(nonsending) @Sendable () async throws -> Void
  ) async throws
}

extension CallerIsolatedInterceptor where Self: OperationInterceptor {
  /// Calls the method of ``OperationInterceptor``.
  public func intercept(
    _ operation: AdvancedOperation,
    attempt: Int,
    body: nonisolated(nonsending) @Sendable () async throws -> Void
  ) async throws {
    try await withoutActuallyEscaping(body) { body in
      let concurrent: @concurrent @Sendable () async throws -> Void = { try await body() }
      try await (self as any OperationInterceptor)
        .intercept(operation, attempt: attempt, body: concurrent)
    }
  }
}

extension OperationInterceptor {
  /// Traps: an interceptor has one of the two methods.
  public func intercept(
    _ operation: AdvancedOperation,
    attempt: Int,
    body: @concurrent @Sendable () async throws -> Void
  ) async throws {
    trap(
      "\(type(of: self)) is an OperationInterceptor without the method intercept(_:attempt:body:). "
        + "Give it the method, with the types of the protocol."
    )
  }
}

/// An interceptor has returned, and had not called the body.
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
    let ran = Locked(BodyRun<Output>.notCalled)
    var chain: @Sendable () async throws -> Void = { [label] in
      let isFirst = ran.withLock { ran in
        guard case .notCalled = ran else { return false }
        ran = .called
        return true
      }
      guard isFirst else {
        trap(
          "An OperationInterceptor called the body of operation “\(label)” twice in one attempt. "
            + "Call it once; a RetryPolicy runs it again."
        )
      }
      do {
        let output = try await body()
        ran.withLock { $0 = .returned(output) }
      } catch {
        ran.withLock { $0 = .threw(error) }
        throw error
      }
    }
    for entry in interceptors.reversed() {
      let inner = chain
      let interceptor: any CallerIsolatedInterceptor = entry.value
      chain = { try await interceptor.intercept(self, attempt: attempt, body: inner) }
    }
    try await chain()
    switch ran.withLock({ $0 }) {
    case .returned(let output): return output
    case .threw(let error): throw error
    case .notCalled, .called:
      throw BodyNotCalled(interceptors: interceptors.map { "\(type(of: $0.value))" })
    }
  }
}

/// What has become of a body that interceptors call.
private enum BodyRun<Output: Sendable>: Sendable {
  case notCalled
  case called
  case returned(Output)
  case threw(any Error)
}
