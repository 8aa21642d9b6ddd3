extension Earthquake {
  /// The names of the fields in the JSON of a report.
  public enum CodingKeys: String, CodingKey {
    /// The identity of the event.
    case id
    /// The identities that other networks gave to it.
    case otherIDs
    /// When it happened.
    case time
    /// When its description was published.
    case updated
    /// The magnitude or `null`.
    case magnitude
    /// The scale of the magnitude or `null`.
    case magnitudeType
    /// The place in words or `null`.
    case place
    /// The kind of event or `null`.
    case type
    /// Where it happened or `null`.
    case location
  }

  /// Writes every field, also those that are not known.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(otherIDs, forKey: .otherIDs)
    try container.encode(time, forKey: .time)
    try container.encode(updated, forKey: .updated)
    try container.encode(magnitude, forKey: .magnitude)
    try container.encode(magnitudeType, forKey: .magnitudeType)
    try container.encode(place, forKey: .place)
    try container.encode(type, forKey: .type)
    try container.encode(location, forKey: .location)
  }
}

extension Location {
  /// The names of the fields in the JSON of a report.
  public enum CodingKeys: String, CodingKey {
    /// Degrees east of Greenwich.
    case longitude
    /// Degrees north of the equator.
    case latitude
    /// Kilometres below sea level or `null`.
    case depth
  }

  /// Writes every field, also an unknown depth.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(longitude, forKey: .longitude)
    try container.encode(latitude, forKey: .latitude)
    try container.encode(depth, forKey: .depth)
  }
}
