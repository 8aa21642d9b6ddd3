import WorkflowDocument

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The file into which a command that fails writes for how long to wait before its next attempt.
enum RequestedDelay {
  /// A longer text isn't a time.
  private static let limit = 1_000

  /// Reads the file of an attempt that failed, and removes it.
  ///
  /// - Parameter path: The path of the file.
  /// - Returns: The delay; nil if the command asks for none.
  /// - Throws: A description of the text that isn't a time.
  static func take(_ path: String) throws(ValueProblem) -> Duration? {
    guard let file = try? OpenFile(reading: path) else { return nil }
    defer { unlink(path) }
    let text = String(decoding: (try? file.read(atMost: limit, at: 0)) ?? [], as: UTF8.self)
      .drop { $0.isWhitespace }
    guard let end = text.lastIndex(where: { !$0.isWhitespace }) else { return nil }
    let word = text[...end]
    // Services say seconds without a unit.
    let hasUnit = !word.utf8.allSatisfy { 0x30...0x39 ~= $0 }
    return try DurationText.duration(hasUnit ? String(word) : "\(word)s")
  }
}
