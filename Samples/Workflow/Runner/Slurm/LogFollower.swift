import Foundation

#if canImport(System)
import System
#else
import SystemPackage
#endif

/// Reads what is appended to a file, line by line.
struct LogFollower: ~Copyable {
  private static let longest = 1 << 16

  private let file: FileDescriptor
  private var offset: Int64
  private var rest: [UInt8] = []

  /// Begins to read a file at an offset.
  init(_ path: String, from offset: Int64) throws {
    file = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec])
    self.offset = offset
  }

  /// Creates a file if it isn't there, and returns how long it is.
  static func end(of path: String) throws -> Int64 {
    let file = try FileDescriptor.open(
      path,
      .readOnly,
      options: [.create, .closeOnExec],
      permissions: [.ownerReadWrite, .groupRead, .otherRead]
    )
    defer { try? file.close() }
    return try file.seek(offset: 0, from: .end)
  }

  deinit { try? file.close() }

  /// The lines that were completed since it was called before; a very long one comes in pieces.
  mutating func lines() -> [String] {
    var lines: [String] = []
    var buffer = [UInt8](repeating: 0, count: Self.longest)
    while true {
      let count =
        (try? buffer.withUnsafeMutableBytes {
          try file.read(fromAbsoluteOffset: offset, into: $0)
        }) ?? 0
      if count == 0 { return lines }
      offset += Int64(count)
      for byte in buffer[..<count] {
        if byte == UInt8(ascii: "\n") || rest.count == Self.longest { lines.append(line()) }
        if byte != UInt8(ascii: "\n") { rest.append(byte) }
      }
    }
  }

  /// The lines since it was called before, the last one of which may have no end.
  mutating func remainingLines() -> [String] {
    var lines = lines()
    if !rest.isEmpty { lines.append(line()) }
    return lines
  }

  private mutating func line() -> String {
    if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
    defer { rest.removeAll(keepingCapacity: true) }
    return String(decoding: rest, as: UTF8.self)
  }
}
