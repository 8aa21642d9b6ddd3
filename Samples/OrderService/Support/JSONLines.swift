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

  /// What the lines of a file say that are whole.
  package struct Reading<Value> {
    /// The values, in the order of their lines.
    package var values: [Value] = []
    /// The numbers of the lines that aren't a value, from 1.
    package var damagedLines: [Int] = []
  }

  /// Reads all lines that are whole.
  ///
  /// - Parameters:
  ///   - type: What a line is.
  ///   - data: What is in the file.
  /// - Returns: The values, and which lines have none.
  package static func read<Value: Decodable>(_ type: Value.Type, in data: Data) -> Reading<Value> {
    let decoder = JSONDecoder()
    var reading = Reading<Value>()
    let lines = whole(data).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() where !line.isEmpty {
      if let value = try? decoder.decode(type, from: line) {
        reading.values.append(value)
      } else {
        reading.damagedLines.append(index + 1)
      }
    }
    return reading
  }
}
