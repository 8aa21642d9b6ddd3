/// How many events happened at which depth.
public struct DepthCounts: Sendable, Hashable, Encodable {
  /// The events less than 70 km deep.
  public var shallow: Int

  /// The events from 70 km to 300 km deep.
  public var intermediate: Int

  /// The events more than 300 km deep.
  public var deep: Int

  /// The events of unknown depth.
  public var unknown: Int

  /// Creates counts.
  ///
  /// - Parameters:
  ///   - shallow: The events less than 70 km deep.
  ///   - intermediate: The events from 70 km to 300 km deep.
  ///   - deep: The events more than 300 km deep.
  ///   - unknown: The events of unknown depth.
  public init(shallow: Int = 0, intermediate: Int = 0, deep: Int = 0, unknown: Int = 0) {
    self.shallow = shallow
    self.intermediate = intermediate
    self.deep = deep
    self.unknown = unknown
  }

  /// The number of events of one class.
  public subscript(depthClass: DepthClass) -> Int {
    switch depthClass {
    case .shallow: shallow
    case .intermediate: intermediate
    case .deep: deep
    case .unknown: unknown
    }
  }
}
