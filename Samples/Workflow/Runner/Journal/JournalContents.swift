#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the whole lines of a journal say.
///
/// A line is the checksum of all until its end as eight digits, a space, and a record as JSON. As
/// each checksum goes on from that of the line before, a line that is missing, doubled or moved is
/// noticed like one that was changed.
public struct JournalContents: Sendable, Equatable {
  /// The first record.
  public var header: JournalHeader
  /// The others, in order.
  public var records: [JournalRecord]
  /// How many bytes at the beginning are whole lines; what follows was being written at the end.
  public var length: Int
  /// The checksum of the last whole line.
  var checksum: UInt32

  /// Reads the whole lines of a journal.
  ///
  /// A last line without a line break was torn, by a crash of the machine for instance; it was
  /// never relied on, and is left out.
  ///
  /// - Parameters:
  ///   - bytes: What the file contains.
  ///   - path: Where it is, for errors.
  /// - Returns: The contents; nil when there is no whole line.
  /// - Throws: ``JournalError`` for a whole line that isn't what was written.
  static func parse(_ bytes: [UInt8], path: String) throws(JournalError) -> JournalContents? {
    var contents: JournalContents?
    var checksum: UInt32 = 0
    var begin = 0
    var number = 0
    while let end = bytes[begin...].firstIndex(of: UInt8(ascii: "\n")) {
      number += 1
      guard let record = JournalLine.record(of: bytes[begin..<end], checksum: &checksum) else {
        throw .damaged(path: path, line: number)
      }
      begin = end + 1
      switch (record, contents) {
      case (.begun(let header), nil):
        guard (1...JournalHeader.currentVersion).contains(header.version) else {
          throw .unknownVersion(path: path, version: header.version)
        }
        contents = JournalContents(header: header, records: [], length: 0, checksum: 0)
      case (.begun, _?), (_, nil): throw .damaged(path: path, line: number)
      case (_, _?): contents?.records.append(record)
      }
      contents?.length = begin
      contents?.checksum = checksum
    }
    return contents
  }
}

extension JournalContents {
  /// The fingerprint of the workflow with which the run was begun, or went on.
  var fingerprint: String {
    for case .resumed(let fingerprint, _) in records.reversed() { return fingerprint }
    return header.fingerprint
  }

  /// The only steps that the run was to run, when it was begun or went on last; empty: all.
  public var only: [String] {
    for case .resumed(_, let only) in records.reversed() { return only ?? [] }
    return header.only ?? []
  }
}

/// A line of a journal as bytes.
enum JournalLine {
  private static let digits = Array("0123456789abcdef".utf8)

  /// A record as JSON, which is a line but for its checksum.
  typealias JSON = [UInt8]

  /// Appends the line of a record.
  ///
  /// - Parameters:
  ///   - json: The record.
  ///   - bytes: Get the line, with its line break.
  ///   - checksum: That of the line before; of this line afterwards.
  static func append(_ json: JSON, to bytes: inout [UInt8], checksum: inout UInt32) {
    checksum = CRC32.checksum(json, after: checksum)
    for shift in stride(from: 28, through: 0, by: -4) {
      bytes.append(digits[Int(checksum >> UInt32(shift) & 15)])
    }
    bytes.append(UInt8(ascii: " "))
    bytes.append(contentsOf: json)
    bytes.append(UInt8(ascii: "\n"))
  }

  /// The record of a line without its line break; nil if it isn't what was written.
  static func record(of line: ArraySlice<UInt8>, checksum: inout UInt32) -> JournalRecord? {
    guard line.count > 9, line[line.startIndex + 8] == UInt8(ascii: " ") else { return nil }
    var written: UInt32 = 0
    for byte in line.prefix(8) {
      guard let digit = digits.firstIndex(of: byte) else { return nil }
      written = written << 4 | UInt32(digit)
    }
    let json = line.dropFirst(9)
    guard CRC32.checksum(json, after: checksum) == written else { return nil }
    checksum = written
    return try? JSONDecoder().decode(JournalRecord.self, from: Data(json))
  }
}
