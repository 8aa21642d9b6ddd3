import Foundation
import TerminalSupport

/// The outermost object of a feed as it stands in the file.
struct FeedDocument<Feature: Decodable>: Decodable {
  let metadata: FeedMetadata
  let features: [Feature]

  private enum Key: String, CodingKey {
    case type, metadata, features
  }

  private enum MetadataKey: String, CodingKey {
    case generated, url, title, count
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let type = try container.decode(String.self, forKey: .type)
    guard type == "FeatureCollection" else {
      throw FeedError.unexpected(
        at: "type",
        expected: "the text “FeatureCollection”",
        found: "the text “\(type.excerpt())”"
      )
    }
    let about = try container.nestedContainer(keyedBy: MetadataKey.self, forKey: .metadata)
    metadata = FeedMetadata(
      generated: try about.date(forKey: .generated),
      url: try about.decode(String.self, forKey: .url),
      title: try about.decode(String.self, forKey: .title),
      count: try about.wholeNumber(forKey: .count)
    )
    features = try container.decode([Feature].self, forKey: .features)
  }
}

/// A feature that is counted but not read.
struct AnyFeature: Decodable {
  init(from decoder: any Decoder) {}
}

/// One event as it stands in the file.
struct FeatureDocument: Decodable {
  let earthquake: Earthquake
  let isDeleted: Bool

  private enum Key: String, CodingKey {
    case id, properties, geometry
  }

  private enum PropertyKey: String, CodingKey {
    case ids, mag, magType, place, status, time, type, updated
  }

  private enum GeometryKey: String, CodingKey {
    case coordinates
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let properties = try container.nestedContainer(keyedBy: PropertyKey.self, forKey: .properties)
    let time = try properties.date(forKey: .time)
    earthquake = Earthquake(
      id: try container.decode(String.self, forKey: .id),
      // A list such as “,ci2,us1,”.
      otherIDs: (try properties.decodeIfPresent(String.self, forKey: .ids) ?? "")
        .split(separator: ",").map(String.init),
      time: time,
      updated: try properties.dateIfPresent(forKey: .updated) ?? time,
      magnitude: try properties.double(forKey: .mag, in: -20...20),
      magnitudeType: try properties.decodeIfPresent(String.self, forKey: .magType),
      place: try properties.decodeIfPresent(String.self, forKey: .place),
      type: try properties.decodeIfPresent(String.self, forKey: .type),
      location: try Self.location(in: container)
    )
    // Feeds of 2014 have some values in capital letters.
    let status = try properties.decodeIfPresent(String.self, forKey: .status)
    isDeleted = status?.lowercased() == "deleted"
  }

  private static func location(in container: KeyedDecodingContainer<Key>) throws -> Location? {
    guard container.contains(.geometry), try !container.decodeNil(forKey: .geometry) else {
      return nil
    }
    let geometry = try container.nestedContainer(keyedBy: GeometryKey.self, forKey: .geometry)
    guard geometry.contains(.coordinates), try !geometry.decodeNil(forKey: .coordinates) else {
      return nil
    }
    var coordinates = try geometry.nestedUnkeyedContainer(forKey: .coordinates)
    let longitude = try coordinates.nextDouble(in: -360...360)
    let latitude = try coordinates.nextDouble(in: -90...90)
    let depth = try coordinates.nextDouble(in: -100...6_400)
    guard let longitude, let latitude else { return nil }
    return Location(longitude: longitude, latitude: latitude, depth: depth)
  }
}

extension KeyedDecodingContainer {
  /// The years 1600 to 9999, in milliseconds since 1970.
  ///
  /// Seismographs are younger, and ISO 8601 has four digits for years.
  private static var possibleTimes: ClosedRange<Int> { -11_676_096_000_000...253_402_300_799_999 }

  /// Reads a whole number by way of `Double`, as Foundation says nothing of the place of a number
  /// that does not fit an integer.
  fileprivate func wholeNumber(
    forKey key: Key,
    in range: ClosedRange<Int> = .min ... .max,
    expected: String = "a whole number"
  ) throws -> Int {
    let number = try decode(Double.self, forKey: key)
    guard let whole = Int(exactly: number), range.contains(whole) else {
      throw FeedError.unexpected(
        at: (codingPath + [key]).written,
        expected: expected,
        found: "the number \(number.short)"
      )
    }
    return whole
  }

  fileprivate func date(forKey key: Key) throws -> Date {
    let milliseconds = try wholeNumber(
      forKey: key,
      in: Self.possibleTimes,
      expected: "a time in whole milliseconds since 1970, between the years 1600 and 9999"
    )
    return Date(milliseconds: Int64(milliseconds))
  }

  fileprivate func dateIfPresent(forKey key: Key) throws -> Date? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try date(forKey: key)
  }

  fileprivate func double(forKey key: Key, in range: ClosedRange<Double>) throws -> Double? {
    guard let value = try decodeIfPresent(Double.self, forKey: key) else { return nil }
    return try value.checked(in: range, at: codingPath + [key])
  }
}

extension UnkeyedDecodingContainer {
  fileprivate mutating func nextDouble(in range: ClosedRange<Double>) throws -> Double? {
    let index = currentIndex
    guard !isAtEnd, let value = try decodeIfPresent(Double.self) else { return nil }
    return try value.checked(in: range, at: codingPath + [JSONIndex(index)])
  }
}

extension Double {
  fileprivate func checked(
    in range: ClosedRange<Double>,
    at path: @autoclosure () -> [any CodingKey]
  ) throws -> Double {
    guard range.contains(self) else {
      throw FeedError.unexpected(
        at: path().written,
        expected: "a number from \(Int(range.lowerBound)) to \(Int(range.upperBound))",
        found: "the number \(self.short)"
      )
    }
    return self
  }
}
