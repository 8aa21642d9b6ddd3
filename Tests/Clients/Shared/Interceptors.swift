import AdvancedOperations
import Testing

// Each client target compiles this file, with its own settings.
#if IMPORTS_FOUNDATION
import Foundation
#endif

private struct Passing: OperationInterceptor {
  func intercept(_ attempt: OperationAttempt) async throws { try await attempt.run() }
}

@Suite struct `Interceptors in this app` {
  @Test func `an interceptor of an app runs around a body`() async throws {
    let queue = AdvancedOperationQueue(name: "client", maxConcurrentOperationCount: 2)
    queue.addInterceptor(Passing())
    let first = ResultOperation { 1 }
    let last = first.then { $0 + 1 }
    let value = try await queue.run(last)
    #expect(value == 2)
    let report = await queue.drain(within: .seconds(60))
    #expect(report.cutShort.isEmpty)
    #expect(queue.isClosed)
  }
}
