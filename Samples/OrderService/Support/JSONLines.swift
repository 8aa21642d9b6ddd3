package import Foundation

/// A file with one value in each line, in JSON, which grows at its end.
package enum JSONLines {
  /// The lines that are whole: what follows the last line break was cut off by a crash.
  ///
  /// - Parameter data: What is in the file.
  /// - Returns: Its beginning, with the last line break.
  package static func whole(_ data: Data) -> Data {
    data[..<(data.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? data.startIndex)]
  }

  /// The values of all lines that are whole, in their order.
  ///
  /// - Parameters:
  ///   - type: What a line is.
  ///   - data: What is in the file.
  /// - Returns: The values.
  /// - Throws: A `DecodingError` for a line that isn't one.
  package static func values<Value: Decodable>(
    of type: Value.Type,
    in data: Data
  ) throws -> [Value] {
    let decoder = JSONDecoder()
    return try whole(data).split(separator: UInt8(ascii: "\n"))
      .map { try decoder.decode(type, from: $0) }
  }
}
