import Foundation

extension JSONEncoder {
  /// Encodes what the service answers: the same answer has the same bytes, and links can be read.
  static var answers: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  /// The JSON of a value as text.
  func text(_ value: some Encodable) throws -> String {
    String(decoding: try encode(value), as: UTF8.self)
  }
}
