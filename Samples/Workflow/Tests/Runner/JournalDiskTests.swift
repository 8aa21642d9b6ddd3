import Foundation
import Synchronization
import Testing

@testable import WorkflowRunner

/// What reaches the disk, and what those that wait for it hear when it fails.
@Suite struct JournalDiskTests {
  /// What a disk did, and the journal that is on it.
  private final class Log: Sendable {
    struct State {
      var journal: JournalFile?
      var writes = 0
      var syncs = 0
      /// How many bytes are on the disk.
      var synced = 0
    }

    let state = Mutex(State())
    var journal: JournalFile? { state.withLock { $0.journal } }
    var syncs: Int { state.withLock { $0.syncs } }

    /// Counts a call, and returns its number.
    func next(_ count: any WritableKeyPath<State, Int> & Sendable) -> Int {
      state.withLock { state in
        state[keyPath: count] += 1
        return state[keyPath: count]
      }
    }
  }

  private static let header = JournalRecord.begun(
    JournalHeader(run: "r", workflow: "w", fingerprint: "f", file: nil)
  )
  private static let count = 8
  private static let input = SystemCallError(code: EIO)

  let folder: TemporaryFolder
  let path: String
  private let log = Log()

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path + "/journal"
  }

  /// Opens a journal that has a header.
  private func open(_ disk: JournalFile.Disk) throws -> JournalFile {
    let journal = try JournalFile(path, disk: disk)
    try journal.append(Self.header, synced: true)
    log.state.withLock { $0.journal = journal }
    return journal
  }

  private func steps(in bytes: some Sequence<UInt8>) throws -> Set<String> {
    let contents = try JournalContents.parse(Array(bytes), path: path)
    return Set(
      contents?.records.compactMap { if case .rolledBack(let step) = $0 { step } else { nil } }
        ?? []
    )
  }

  /// Writes lines, while a sync goes on, until the file has those of all that wait.
  private static func writeUntilAllAreThere(_ journal: JournalFile, _ file: OpenFile) {
    while true {
      do {
        try journal.append(.attemptFailed(step: "other", attempt: 1), synced: false)
        let text = String(decoding: try file.readAll(), as: UTF8.self)
        if (0..<count).allSatisfy({ text.contains("\"\($0)\"") }) { return }
      } catch {
        Issue.record(error)
        return
      }
      sched_yield()
    }
  }

  /// A task for each but the last line, which a thread of its own waits for.
  private func recordAll(_ journal: JournalFile) async -> [Result<Void, JournalError>] {
    await withTaskGroup(of: Result<Void, JournalError>.self) { tasks in
      for number in 0..<Self.count {
        tasks.addTask { () -> Result<Void, JournalError> in
          let record = JournalRecord.rolledBack(step: "\(number)")
          guard number == Self.count - 1 else {
            do throws(JournalError) {
              return .success(try await journal.record(record, isUrgent: number % 3 == 0))
            } catch {
              return .failure(error)
            }
          }
          return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              continuation.resume(
                returning: Result { () throws(JournalError) in
                  try journal.append(record, synced: true)
                }
              )
            }
          }
        }
      }
      return await tasks.reduce(into: []) { $0.append($1) }
    }
  }

  @Test func `What comes while the disk is waited for shares the next sync`() async throws {
    let journal = try open(
      JournalFile.Disk(
        synchronize: { [log] (file) throws(SystemCallError) in
          let number = log.next(\.syncs)
          if number == 2, let journal = log.journal { Self.writeUntilAllAreThere(journal, file) }
          try file.synchronize()
        }
      )
    )
    for result in await recordAll(journal) { try result.get() }
    // The header's; that of those that came first; and that of all the others, which wait meanwhile.
    #expect((2...3).contains(log.syncs))
  }

  @Test func `A line is on the disk when its task continues`() async throws {
    let journal = try open(
      JournalFile.Disk(
        synchronize: { [log] (file) throws(SystemCallError) in
          let size = try file.size()
          try file.synchronize()
          log.state.withLock { $0.synced = size }
        }
      )
    )
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for task in 0..<8 {
        tasks.addTask { [log, path] in
          for number in 0..<8 {
            let step = "\(task) \(number)"
            try await journal.record(.rolledBack(step: step), isUrgent: number.isMultiple(of: 2))
            let synced = log.state.withLock { $0.synced }
            let bytes = try OpenFile(reading: path).read(atMost: synced, at: 0)
            #expect(try steps(in: bytes).contains(step))
          }
        }
      }
      try await tasks.waitForAll()
    }
  }

  @Test func `A failed sync reaches all waiting tasks, and isn't retried`() async throws {
    // As Linux has it, which tells a failure once: only the first sync after the header's fails.
    let journal = try open(
      JournalFile.Disk(
        synchronize: { [log] (file) throws(SystemCallError) in
          let number = log.next(\.syncs)
          guard number == 2, let journal = log.journal else { return try file.synchronize() }
          Self.writeUntilAllAreThere(journal, file)
          throw Self.input
        }
      )
    )
    let failure = JournalError.inaccessible(path: path, reason: "\(Self.input)")
    for result in await recordAll(journal) { #expect(throws: failure) { try result.get() } }
    #expect(throws: failure) { try journal.append(.rolledBack(step: "late"), synced: false) }
    await #expect(throws: failure) {
      try await journal.record(.rolledBack(step: "late"), isUrgent: true)
    }
    #expect(log.syncs == 2)
  }

  @Test func `A write that fails reaches all that wait, and leaves no torn line`() async throws {
    let full = SystemCallError(code: ENOSPC)
    let journal = try open(
      JournalFile.Disk(
        write: { [log] (file, bytes) throws(SystemCallError) in
          let number = log.next(\.writes)
          if number != 2 { return try file.write(bytes) }
          try file.write(bytes.prefix(bytes.count / 2))
          throw full
        }
      )
    )
    let failure = JournalError.inaccessible(path: path, reason: SystemCallError.fullDisk)
    for result in await recordAll(journal) { #expect(throws: failure) { try result.get() } }
    #expect(throws: failure) { try journal.append(.rolledBack(step: "late"), synced: true) }
    #expect(log.state.withLock { $0.writes } == 2)
    let contents = try #require(try JournalFile(path).contents)
    #expect(contents.records.isEmpty)
    let bytes = try OpenFile(reading: path).readAll()
    #expect(contents.length == bytes.count)
  }
}
