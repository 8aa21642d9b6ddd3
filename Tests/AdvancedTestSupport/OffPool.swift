import Dispatch

/// One thread for everything that takes long, so that the few threads of tasks stay free for other
/// tests.
private let line = DispatchQueue(label: "explorations")

/// Runs something that takes long on a thread of its own, one at a time, while the test waits.
///
/// What is expected of the result is expected afterwards: on that thread nobody knows which test it
/// is.
package func offPool<Value: Sendable>(
  _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    line.async { continuation.resume(with: Result { try body() }) }
  }
}
