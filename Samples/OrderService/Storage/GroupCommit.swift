import GRDB

/// Commits what many orders write at the same time in one transaction.
///
/// A commit waits for the disk, and that takes as long for a hundred changes as for one. While one
/// transaction is being committed, changes gather for the next. Each change has a savepoint: one that
/// throws takes back its own work and no other's. None returns before its transaction is on the disk.
actor GroupCommit {
  /// A change that waits, and what has to be done when its transaction is over.
  private struct Change: Sendable {
    /// Makes the change; what it returns says to the caller how that went.
    let make: @Sendable (Database) throws -> @Sendable () -> Void
    /// Says to the caller that the transaction came to nothing.
    let fail: @Sendable (any Error) -> Void
  }

  /// How many changes one transaction has at most, so that the first of them isn't kept waiting.
  private static let limit = 256

  private let database: any DatabaseWriter
  private var waiting: [Change] = []
  private var isWriting = false

  init(_ database: any DatabaseWriter) { self.database = database }

  /// Makes a change, and returns when it is on the disk.
  func write<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      waiting.append(
        Change { database in
          let value = try body(database)
          return { continuation.resume(returning: value) }
        } fail: { error in
          continuation.resume(throwing: error)
        }
      )
      if isWriting { return }
      isWriting = true
      Task { await self.commitAll() }
    }
  }

  private func commitAll() async {
    while !waiting.isEmpty {
      let changes = Array(waiting.prefix(Self.limit))
      waiting.removeFirst(changes.count)
      do {
        let answers = try await database.write { database in
          try changes.map { try Self.make($0, in: database) }
        }
        for answer in answers { answer() }
      } catch {
        for change in changes { change.fail(error) }
      }
    }
    isWriting = false
  }

  /// Makes a change of its own; what the change throws is its caller's affair.
  private static func make(
    _ change: Change,
    in database: Database
  ) throws -> @Sendable () -> Void {
    var answer: (@Sendable () -> Void)?
    do {
      try database.inSavepoint {
        answer = try change.make(database)
        return .commit
      }
    } catch {
      // Without its transaction, SQLite has given up all of the changes.
      guard database.isInsideTransaction else { throw error }
      return { change.fail(error) }
    }
    return answer ?? {}
  }
}
