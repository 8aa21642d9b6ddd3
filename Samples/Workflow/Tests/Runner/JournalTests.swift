import Foundation
import SampleTestSupport
import Testing
import WorkflowDocument

@testable import WorkflowRunner

@Suite struct JournalTests {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path + "/journal"
  }

  private static let header = JournalHeader(
    run: "r",
    workflow: "w",
    fingerprint: "f",
    file: "/a/w.yml",
    folder: "/a/.workflow/runs/r",
    begin: 1_795_000_000.25,
    only: ["a"]
  )
  private static let records: [JournalRecord] = [
    .started(step: "a", attempt: 1, node: "n1", handle: "7"),
    .ended(
      step: "a",
      end: StepEnd(outcome: .succeeded, attempts: 1, outputs: ["ä": "\n\u{1F600}"])
    ),
    .ended(step: "b", end: StepEnd(outcome: .skipped, reason: "no “reason”")),
    .rolledBack(step: "a"), .resumed(fingerprint: "g"), .resumed(fingerprint: "g", only: ["b"]),
    .attemptFailed(step: "b", attempt: 1),
    .rollbackBegun(step: "\"c\\\u{2028}\u{85}\u{0}\u{1F}\t\r"),
    .rollbackStarted(step: "c", attempt: 2, handle: "1 2-3 b", engine: "local"),
    .rollbackFailed(step: "c", reason: "\u{FEFF}\u{E000}\u{10FFFF}"), .rolledBack(step: ""),
    .started(step: "c", attempt: .max, node: nil, handle: "", engine: "slurm"),
    .ended(
      step: "d",
      end: StepEnd(
        outcome: .failed,
        reason: "",
        attempts: .min,
        duration: .nanoseconds(-1),
        queued: .seconds(Int64.max) + .nanoseconds(999_999_999),
        node: "n2",
        outputs: ["a": "", "\"": "1", "": "2"],
        isFromJournal: true
      )
    ),
    .ended(step: "e", end: StepEnd(outcome: .cancelled, duration: .seconds(Int64.min))),
    .runEnded(
      end: RunEnd(
        succeeded: 1,
        failed: 0,
        skipped: 1,
        cancelled: 0,
        duration: .milliseconds(1_234),
        failures: ""
      )
    ),
  ]

  private func write() throws -> [UInt8] {
    let journal = try JournalFile(path)
    try journal.append(.begun(Self.header), synced: true)
    for record in Self.records { try journal.append(record, synced: record == Self.records[1]) }
    return [UInt8](try Data(contentsOf: URL(filePath: path)))
  }

  private func contents(of bytes: [UInt8]) throws -> JournalContents? {
    try JournalContents.parse(bytes, path: "j")
  }

  @Test func `The checksum is that of gzip`() {
    #expect(CRC32.checksum("123456789".utf8) == 0xCBF4_3926)
    let first = CRC32.checksum("1234".utf8)
    #expect(CRC32.checksum("56789".utf8, after: first) == 0xCBF4_3926)
  }

  @Test func `Records that say less are read, as earlier versions have written them`() throws {
    let decoder = JSONDecoder()
    func record(_ text: String) throws -> JournalRecord {
      try decoder.decode(JournalRecord.self, from: Data(text.utf8))
    }
    #expect(try record(#"{"resumed":{"fingerprint":"f"}}"#) == .resumed(fingerprint: "f"))
    #expect(
      try record(#"{"begun":{"_0":{"version":2,"run":"r","workflow":"w","fingerprint":"f"}}}"#)
        == .begun(JournalHeader(run: "r", workflow: "w", fingerprint: "f", file: nil))
    )
  }

  @Test func `What was written is read again`() throws {
    let bytes = try write()
    let contents = try #require(try contents(of: bytes))
    #expect(contents.header == Self.header)
    #expect(contents.records == Self.records)
    #expect(contents.length == bytes.count)
    #expect(try JournalFile(path).contents == contents)
  }

  @Test func `A journal that is cut anywhere has its whole lines, and can be written on`() throws {
    let bytes = try write()
    for length in 0...bytes.count {
      let piece = Array(bytes[..<length])
      let lines = piece.count { $0 == UInt8(ascii: "\n") }
      try Data(piece).write(to: URL(filePath: path))
      let journal = try JournalFile(path)
      #expect(journal.contents?.records ?? [] == Array(Self.records.prefix(max(lines - 1, 0))))
      #expect((journal.contents == nil) == (lines == 0))
      if lines == 0 { try journal.append(.begun(Self.header), synced: false) }
      try journal.append(.rolledBack(step: "z"), synced: false)
      #expect(try JournalFile.contents(of: path)?.records.last == .rolledBack(step: "z"))
    }
  }

  @Test func `A journal of which any bit is flipped is refused, or has lines less at its end`()
    throws
  {
    let bytes = try write()
    var (tried, refused) = (0, 0)
    for place in stride(from: 0, to: bytes.count, by: Effort.isOrdinary ? 13 : 1) {
      for bit in 0..<8 {
        tried += 1
        var flipped = bytes
        flipped[place] ^= 1 << UInt8(bit)
        do {
          let records = try contents(of: flipped)?.records ?? []
          #expect(records.count < Self.records.count, "byte \(place), bit \(bit)")
          #expect(records == Array(Self.records.prefix(records.count)))
        } catch is JournalError {
          refused += 1
        }
      }
    }
    #expect(refused > tried * 7 / 8)
  }

  @Test func `A damaged line is named`() throws {
    var bytes = try write()
    let second = try #require(bytes.firstIndex(of: UInt8(ascii: "\n"))) + 12
    bytes[second] ^= 1
    #expect(throws: JournalError.damaged(path: "j", line: 2)) { try contents(of: bytes) }
  }

  @Test func `Missing, doubled and moved lines are noticed`() throws {
    let lines = try write().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true)
      .map { Array($0) + [UInt8(ascii: "\n")] }
    for index in lines.indices {
      if index < lines.count - 1 {
        var gone = lines
        gone.remove(at: index)
        #expect(throws: JournalError.self, "\(index)") { try contents(of: gone.flatMap { $0 }) }
        var moved = lines
        moved.swapAt(index, index + 1)
        #expect(throws: JournalError.self, "\(index)") { try contents(of: moved.flatMap { $0 }) }
      }
      let doubled = lines[...index] + lines[index...]
      #expect(throws: JournalError.self, "\(index)") { try contents(of: doubled.flatMap { $0 }) }
    }
  }

  @Test func `A journal of another version is refused with its number`() throws {
    var header = Self.header
    header.version = 3
    try JournalFile(path).append(.begun(header), synced: false)
    #expect(throws: JournalError.unknownVersion(path: path, version: 3)) { try JournalFile(path) }
  }

  @Test func `Threads that write at the same time lose nothing`() async throws {
    let journal = try JournalFile(path)
    try journal.append(.begun(Self.header), synced: true)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for thread in 0..<8 {
        tasks.addTask {
          for number in 0..<25 {
            let record = JournalRecord.rolledBack(step: "\(thread) \(number)")
            try journal.append(record, synced: number % 5 == 0)
          }
        }
      }
      try await tasks.waitForAll()
    }
    let records = try JournalFile(path).contents?.records ?? []
    #expect(records.count == 200)
    for thread in 0..<8 {
      let own = records.compactMap { record -> String? in
        guard case .rolledBack(let step) = record, step.hasPrefix("\(thread) ") else { return nil }
        return step
      }
      #expect(own == (0..<25).map { "\(thread) \($0)" })
    }
  }

  @Test func `All tasks that wait for the disk at the same time continue`() async throws {
    let journal = try JournalFile(path)
    try journal.append(.begun(Self.header), synced: true)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for task in 0..<32 {
        tasks.addTask {
          for number in 0..<8 {
            let record = JournalRecord.rolledBack(step: "\(task) \(number)")
            try await journal.record(record, isUrgent: (task + number) % 3 == 0)
          }
        }
      }
      try await tasks.waitForAll()
    }
    let records = try JournalFile(path).contents?.records ?? []
    #expect(records.count == 256)
    for task in 0..<32 {
      let own = records.compactMap { record -> String? in
        guard case .rolledBack(let step) = record, step.hasPrefix("\(task) ") else { return nil }
        return step
      }
      #expect(own == (0..<8).map { "\(task) \($0)" })
    }
  }

  @Test func `A journal that can't be opened says why`() {
    #expect(
      throws: JournalError.inaccessible(path: "/no/such/j", reason: "No such file or directory")
    ) {
      try JournalFile("/no/such/j")
    }
  }
}
