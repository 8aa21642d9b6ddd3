#if PostgreSQL
import Foundation

/// A few connections, each with a thread of its own, on which calls of libpq wait.
///
/// Tasks suspend meanwhile: the threads of the cooperative pool are never held by the database. A
/// connection is made when it is needed, and again when it was lost.
final class PostgreSQLPool: Sendable {
  private let jobs = JobQueue()

  /// Creates a pool; no connection is made yet.
  init(url: String, connections: Int) {
    for number in 1...connections {
      let thread = Thread { [jobs] in
        let connection = PostgreSQLConnection(url: url)
        while let job = jobs.next() { job(connection) }
      }
      thread.name = "PostgreSQL \(number)"
      thread.start()
    }
  }

  deinit { jobs.close() }

  /// Reads outside of a transaction.
  ///
  /// - Parameter body: It is called again when it finds that the connection was lost since the last
  ///   call, as after a restart of the server.
  /// - Returns: What the body returns.
  /// - Throws: ``PostgreSQLError``; what the body throws.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
  ) async throws -> Value {
    try await run { connection in
      do {
        return try body(connection)
      } catch let error as PostgreSQLError where error.isConnectionLost {
        try connection.open()
        return try body(connection)
      }
    }
  }

  /// Makes a transaction: when this returns, it is on the server's disk.
  ///
  /// - Parameter body: What it throws takes back all that it did.
  /// - Returns: What the body returns.
  /// - Throws: ``PostgreSQLError``; what the body throws. When the connection was lost during the
  ///   commit, it isn't known whether the transaction counts.
  @discardableResult
  func write<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
  ) async throws -> Value {
    try await run { connection in
      do {
        try connection.execute("BEGIN")
      } catch let error as PostgreSQLError where error.isConnectionLost {
        try connection.open()
        try connection.execute("BEGIN")
      }
      do {
        let value = try body(connection)
        try connection.execute("COMMIT")
        return value
      } catch {
        // Without its answer, nothing is known of the transaction: the server ends it.
        do { try connection.execute("ROLLBACK") } catch { connection.close() }
        throw error
      }
    }
  }

  private func run<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      jobs.add { connection in
        continuation.resume(
          with: Result {
            try connection.open()
            return try body(connection)
          }
        )
      }
    }
  }
}

/// What the threads of a pool have to do, the first first.
private final class JobQueue: @unchecked Sendable {
  typealias Job = @Sendable (PostgreSQLConnection) -> Void

  // All state is read and written with the condition's lock held.
  private let condition = NSCondition()
  private var jobs: [Job?] = []
  private var first = 0
  private var isClosed = false

  func add(_ job: @escaping Job) {
    condition.withLock {
      jobs.append(job)
      condition.signal()
    }
  }

  /// Waits for a job; nil when there won't be any.
  func next() -> Job? {
    condition.withLock {
      while first == jobs.count {
        if isClosed { return nil }
        condition.wait()
      }
      let job = jobs[first]
      // What a job has captured goes away with it.
      jobs[first] = nil
      first += 1
      if first > 256, first * 2 > jobs.count {
        jobs.removeFirst(first)
        first = 0
      }
      return job
    }
  }

  func close() {
    condition.withLock {
      isClosed = true
      condition.broadcast()
    }
  }
}
#endif
