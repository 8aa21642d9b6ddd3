import Foundation
import TerminalSupport

/// Says in words what stands at one place of a JSON file.
struct JSONProbe: Decodable {
  private static let pathKey = CodingUserInfoKey(rawValue: "path")

  private let found: String

  /// What stands at the end of a path, such as `the number 7` or `an array`.
  static func description(at path: [any CodingKey], in data: Data) -> String {
    let decoder = JSONDecoder()
    if let pathKey { decoder.userInfo[pathKey] = path }
    return (try? decoder.decode(JSONProbe.self, from: data).found) ?? "something else"
  }

  init(from decoder: any Decoder) throws {
    let path = Self.pathKey.flatMap { decoder.userInfo[$0] as? [any CodingKey] } ?? []
    found = Self.describe(try Self.descend(path, from: decoder))
  }

  private static func descend(
    _ path: [any CodingKey],
    from decoder: any Decoder
  ) throws -> any Decoder {
    try path.reduce(decoder) { decoder, key in
      guard let index = key.intValue else {
        return try decoder.container(keyedBy: Name.self)
          .superDecoder(forKey: Name(stringValue: key.stringValue))
      }
      var array = try decoder.unkeyedContainer()
      for _ in 0..<index { _ = try array.decode(AnyFeature.self) }
      return try array.superDecoder()
    }
  }

  private static func describe(_ decoder: any Decoder) -> String {
    if let value = try? decoder.singleValueContainer() {
      if value.decodeNil() { return "null" }
      if let bool = try? value.decode(Bool.self) { return "\(bool)" }
      if let number = try? value.decode(Int64.self) { return "the number \(number)" }
      if let number = try? value.decode(Double.self) { return "the number \(number)" }
      if let text = try? value.decode(String.self) {
        return "the text “\(text.excerpt())”"
      }
    }
    if (try? decoder.container(keyedBy: Name.self)) != nil { return "an object" }
    if (try? decoder.unkeyedContainer()) != nil { return "an array" }
    return "a number out of range"
  }

  private struct Name: CodingKey {
    let stringValue: String

    init(stringValue: String) {
      self.stringValue = stringValue
    }

    init?(intValue: Int) {
      nil
    }

    var intValue: Int? { nil }
  }
}
