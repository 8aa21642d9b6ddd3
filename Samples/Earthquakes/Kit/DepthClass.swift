/// The three depths that seismology tells apart, and the case where the depth is not known.
///
/// The limits are those of the U.S. Geological Survey: shallow above 70 km, deep below 300 km.
public enum DepthClass: String, Sendable, Hashable, CaseIterable {
  /// Less than 70 km deep, or above sea level.
  case shallow

  /// From 70 km to 300 km deep, both included.
  case intermediate

  /// More than 300 km deep.
  case deep

  /// Of a depth that nobody determined.
  case unknown

  /// Creates the class that a depth belongs to.
  ///
  /// - Parameter depth: Kilometres below sea level, or `nil` where it is not known.
  public init(depth: Double?) {
    switch depth {
    case .none: self = .unknown
    case .some(let depth) where depth < 70: self = .shallow
    case .some(let depth) where depth <= 300: self = .intermediate
    case .some: self = .deep
    }
  }

  /// The limits of the class in words, such as `< 70 km`.
  public var limits: String {
    switch self {
    case .shallow: "< 70 km"
    case .intermediate: "70–300 km"
    case .deep: "> 300 km"
    case .unknown: ""
    }
  }
}
