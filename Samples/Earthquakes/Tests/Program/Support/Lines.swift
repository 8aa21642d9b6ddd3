import Foundation

/// Reads a pipe as far as is wanted.
final class Lines {
  private let handle: FileHandle
  private var rest = ""

  init(_ handle: FileHandle) { self.handle = handle }

  /// What comes up to and with a text, or up to the end.
  func text(until end: String?) -> String {
    while true {
      if let end, let range = rest.firstRange(of: end) {
        defer { rest = String(rest[range.upperBound...]) }
        return String(rest[..<range.upperBound])
      }
      let data = handle.availableData
      if data.isEmpty {
        defer { rest = "" }
        return rest
      }
      rest += String(decoding: data, as: UTF8.self)
    }
  }
}
