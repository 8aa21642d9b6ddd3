public import Foundation
import TerminalSupport

/// There is no feed of the given name.
public struct FeedAddressError: Error, Sendable, Hashable {
  /// The name that was given.
  public let name: String

  /// All names that there are.
  public let validNames: [String]

  /// The valid name that differs from the given one in the fewest letters.
  public var closestName: String? {
    let name = name.lowercased()
    return validNames.min { Self.distance($0, name) < Self.distance($1, name) }
  }

  /// The number of letters to insert, delete or exchange to get from one text to the other.
  ///
  /// Levenshtein's distance, by the method of Wagner and Fischer (1974) with two rows.
  private static func distance(_ one: String, _ other: String) -> Int {
    let other = Array(other)
    var row = Array(0...other.count)
    for (index, letter) in one.enumerated() {
      var next = [index + 1]
      for (column, otherLetter) in other.enumerated() {
        next.append(
          min(row[column + 1] + 1, next[column] + 1, row[column] + (letter == otherLetter ? 0 : 1))
        )
      }
      row = next
    }
    return row[other.count]
  }
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
