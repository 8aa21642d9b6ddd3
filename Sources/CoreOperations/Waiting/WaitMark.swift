/// What waits for an operation, besides its dependents; the later ones weigh more.
///
/// ``RunTimeCycles`` sets and reads it.
enum WaitMark: UInt8, Comparable {
  case none
  /// A barrier, directly or through others.
  case barrier
  /// Code that executes, or a group that does, directly or through others.
  case code

  static func < (one: WaitMark, other: WaitMark) -> Bool { one.rawValue < other.rawValue }
}
