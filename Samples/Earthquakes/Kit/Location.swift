/// A point on or below the surface of the Earth, as a feed gives it.
public struct Location: Sendable, Hashable, Encodable {
  /// Degrees east of Greenwich, from -180 to 180.
  public var longitude: Double

  /// Degrees north of the equator, from -90 to 90.
  public var latitude: Double

  /// Kilometres below sea level, negative above it, or `nil` where nobody determined it.
  public var depth: Double?

  /// Creates a location.
  ///
  /// - Parameters:
  ///   - longitude: Degrees east of Greenwich.
  ///   - latitude: Degrees north of the equator.
  ///   - depth: Kilometres below sea level.
  public init(longitude: Double, latitude: Double, depth: Double? = nil) {
    self.longitude = longitude
    self.latitude = latitude
    self.depth = depth
  }
}
