/// Operations that wait for each other in a ring, so that none of them could ever start.
///
/// The `cancellationReason` of every operation of the ring.
public struct OperationCycleError: Error, Hashable, CustomStringConvertible {
  /// The names along the ring; the last is the first again.
  public var path: [String]

  /// Creates the error.
  ///
  /// - Parameter path: The names along the ring; the last is the first again.
  public init(path: [String]) { self.path = path }

  /// One sentence with the path.
  public var description: String {
    "These operations wait for each other in a ring, so none could start: "
      + path.joined(separator: " → ") + ". Remove one of these dependencies."
  }
}
