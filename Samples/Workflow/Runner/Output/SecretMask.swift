import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The values that nobody is to read: `*` stands in their place, in lines that are shown and in logs.
///
/// A mask has as many bytes as the value, so that a log keeps its length. Values of fewer than four
/// bytes aren't masked: they would be found in words.
final class SecretMask: Sendable {
  /// The shortest value that is masked, in bytes.
  static let shortest = 4

  /// The longest first: one may be a part of another.
  private let values = Mutex<[[UInt8]]>([])

  /// Adds values; each line of a value counts.
  func add(_ texts: some Sequence<String>) {
    let new = texts.flatMap { $0.split(whereSeparator: \.isNewline) }.map { Array($0.utf8) }
      .filter { $0.count >= Self.shortest }
    if new.isEmpty { return }
    values.withLock { values in
      values = Set(values + new).sorted { $0.count > $1.count }
    }
  }

  /// Whether there is nothing to mask.
  var isEmpty: Bool { values.withLock { $0.isEmpty } }

  /// A text without the values.
  func masked(_ line: String) -> String {
    let values = values.withLock { $0 }
    if values.isEmpty { return line }
    var bytes = Array(line.utf8)
    var hasFound = Self.mask(&bytes, values)
    // Of one that the end of a cut line has cut, the beginning is there.
    let cut = Array("…".utf8)
    if bytes.count > cut.count, bytes.suffix(cut.count) == cut[...] {
      let text = bytes.dropLast(cut.count)
      for value in values {
        let length = (1..<value.count).last { text.suffix($0) == value.prefix($0) } ?? 0
        for index in text.indices.suffix(length) { bytes[index] = UInt8(ascii: "*") }
        hasFound = hasFound || length > 0
      }
    }
    return hasFound ? String(decoding: bytes, as: UTF8.self) : line
  }

  /// Masks the values in a file, where they stand.
  func mask(fileAt path: String) throws(SystemCallError) {
    let values = values.withLock { $0 }
    guard let longest = values.first?.count else { return }
    let file: OpenFile
    do throws(SystemCallError) {
      file = try OpenFile(path, O_RDWR)
    } catch {
      if error.isMissing { return }
      throw error
    }
    let size = try file.size()
    var offset = 0
    while offset < size {
      // A value may begin in one piece and end in the next one.
      var piece = try file.read(atMost: (1 << 20) + longest, at: offset)
      if piece.isEmpty { return }
      if Self.mask(&piece, values) { try file.write(piece, at: offset) }
      offset += min(piece.count, 1 << 20)
    }
  }

  private static func mask(_ bytes: inout [UInt8], _ values: [[UInt8]]) -> Bool {
    var hasFound = false
    for value in values {
      var place = 0
      while let start = bytes.first(value, from: place) {
        for index in start..<start + value.count { bytes[index] = UInt8(ascii: "*") }
        place = start + value.count
        hasFound = true
      }
    }
    return hasFound
  }
}

extension [UInt8] {
  /// Where other bytes begin first, from a place on.
  fileprivate func first(_ other: [UInt8], from place: Int) -> Int? {
    withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return nil }
      var place = place
      while place + other.count <= bytes.count {
        let rest = bytes.count - other.count + 1 - place
        guard let found = memchr(base + place, Int32(other[0]), rest) else { return nil }
        if memcmp(found, other, other.count) == 0 { return UnsafeRawPointer(found) - base }
        place = UnsafeRawPointer(found) - base + 1
      }
      return nil
    }
  }
}
