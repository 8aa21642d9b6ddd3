public import Foundation
import TerminalSupport

/// There is no feed of the given name.
public struct FeedAddressError: Error, Sendable, Hashable {
  /// The name that was given.
  public let name: String

  /// All names that there are.
  public let validNames: [String]

  /// The valid name that is close to the given one; nil if none is.
  public var closestName: String? { NearestName.nearest(to: name, among: validNames) }
}

extension FeedAddressError: CustomStringConvertible {
  /// Whole sentences with the closest name and all valid names.
  public var description: String {
    let hint = closestName.map { " Did you mean “\($0)”?" } ?? ""
    return "There is no feed named “\(name.excerpt())”.\(hint) The feeds are: "
      + validNames.joined(separator: ", ") + "."
  }
}

extension FeedAddressError: LocalizedError {
  /// The same sentences as `description`.
  public var errorDescription: String? { description }
}
