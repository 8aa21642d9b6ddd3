public import Foundation

/// One event of a feed, as the catalogue that published it knew it at the time `updated`.
///
/// Not every event is an earthquake: `type` also says `quarry blast`, `explosion` and others.
/// What a network has not determined is `nil`; such events are kept all the same.
///
/// ```swift
/// let valdivia = Earthquake(
///   id: "notable1960valdivia",
///   time: Date(timeIntervalSince1970: -303_281_320),
///   updated: Date(timeIntervalSince1970: 0),
///   magnitude: 9.5,
///   location: Location(longitude: -73.407, latitude: -38.143, depth: 25))
/// ```
public struct Earthquake: Sendable, Hashable, Identifiable, Encodable {
  /// The identity of the event: the `id` of its feature.
  ///
  /// It is that of the network whose description is preferred, so it changes when another network is.
  public var id: String

  /// The identities that other networks gave to the same event, in alphabetical order.
  public var otherIDs: [String]

  /// When the ground began to move, to the millisecond.
  public var time: Date

  /// When this description of the event was published; a newer one replaces an older one.
  public var updated: Date

  /// The magnitude on the scale that `magnitudeType` names; can be negative.
  public var magnitude: Double?

  /// The scale of the magnitude as the feed spells it, such as `mww` or `Md`.
  public var magnitudeType: String?

  /// The place in words, such as `60 km SW of Pyay, Myanmar`.
  public var place: String?

  /// The kind of event in lower case with spaces, such as `quarry blast`.
  ///
  /// The feeds changed their spelling over the years. The parser reads `quarry_blast`,
  /// `Quarry Blast` and `quarry blast` as the same kind; see ``normalizedType(_:)``.
  public var type: String?

  /// Where it happened.
  public var location: Location?

  /// Creates an event from what is known of it.
  ///
  /// - Parameters:
  ///   - id: The identity of the event.
  ///   - otherIDs: The identities that other networks gave to it, in any order.
  ///   - time: When it happened.
  ///   - updated: When this description was published.
  ///   - magnitude: The magnitude, where it is known.
  ///   - magnitudeType: The scale of the magnitude.
  ///   - place: The place in words.
  ///   - type: The kind of event, in any of the spellings of the feeds.
  ///   - location: Where it happened.
  public init(
    id: String,
    otherIDs: some Sequence<String> = [],
    time: Date,
    updated: Date,
    magnitude: Double? = nil,
    magnitudeType: String? = nil,
    place: String? = nil,
    type: String? = "earthquake",
    location: Location? = nil
  ) {
    self.id = id
    self.otherIDs = Set(otherIDs).subtracting([id]).sorted()
    self.time = time
    self.updated = updated
    self.magnitude = magnitude
    self.magnitudeType = magnitudeType
    self.place = place
    self.type = type.flatMap(Earthquake.normalizedType)
    self.location = location
  }

  /// The class of the event's depth, `unknown` where the location or its depth is.
  public var depthClass: DepthClass { DepthClass(depth: location?.depth) }

  /// The one spelling that counts use for a kind of event.
  ///
  /// - Parameter spelling: The kind as a feed spells it.
  /// - Returns: The words in lower case with one space between them, or `nil` if there is none.
  public static func normalizedType(_ spelling: String) -> String? {
    let words = spelling.lowercased().split { $0 == "_" || $0.isWhitespace }
    return words.isEmpty ? nil : words.joined(separator: " ")
  }
}
