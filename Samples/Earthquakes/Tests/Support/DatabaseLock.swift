import Foundation
import GRDB
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What another process does that has a database to itself for a while.
final class DatabaseLock: Sendable {
  /// The locks of SQLite.
  enum Kind: String, CaseIterable {
    /// Others may read, and may not commit.
    case shared = "BEGIN; SELECT COUNT(*) FROM sqlite_master"
    /// Others may read, and may not begin to write.
    case reserved = "BEGIN IMMEDIATE"
    /// Others may do nothing.
    case exclusive = "BEGIN EXCLUSIVE"
  }

  /// The byte of a file, far behind its end, that SQLite locks when it wants to commit.
  private static let pendingByte = 0x4000_0000

  private let connection: DatabaseQueue
  private let descriptor: Int32

  /// Locks a database, and creates an empty file if there is none.
  init(_ kind: Kind, _ path: String) throws {
    // First: closing any descriptor of a file gives up all locks that the process has on it.
    descriptor = open(path, O_RDWR | O_CREAT, 0o600)
    try #require(descriptor >= 0)
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    connection = try DatabaseQueue(path: path, configuration: configuration)
    try connection.writeWithoutTransaction { try $0.execute(sql: kind.rawValue) }
  }

  deinit { _ = close(descriptor) }

  /// Whether another process waits for the lock's end in order to commit.
  var holdsUpCommit: Bool {
    // The system tells of locks of other processes only.
    var lock = flock()
    lock.l_type = numericCast(F_RDLCK)
    lock.l_whence = numericCast(SEEK_SET)
    lock.l_start = numericCast(Self.pendingByte)
    lock.l_len = 1
    return fcntl(descriptor, F_GETLK, &lock) == 0 && Int32(lock.l_type) != Int32(F_UNLCK)
  }

  func release() throws { try connection.close() }
}
