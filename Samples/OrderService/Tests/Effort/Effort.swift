import Foundation

/// The numbers of orders, seeds and rounds that tests try.
///
/// By default a test shows its promise once, in a second or two. `OPERATIONS_TESTS=full` runs the campaigns
/// that look for what nobody thought of. A test passes the number of its campaign; the default is decided
/// here.
package enum Effort {
  /// Whether only the default is tried.
  package static let isOrdinary =
    ProcessInfo.processInfo.environment["OPERATIONS_TESTS"] != "full"
    && ProcessInfo.processInfo.environment["OPERATIONS_NIGHTLY"] == nil

  /// The seeds of a test that draws its choices: at most five, or those of its campaign.
  package static func seeds(_ campaign: Int) -> ClosedRange<UInt64> {
    1...UInt64(size(campaign, ordinarily: 5))
  }

  /// The orders, or rounds, of a test: at most so many ordinarily, or those of its campaign.
  package static func size(_ campaign: Int, ordinarily: Int) -> Int {
    isOrdinary ? min(campaign, ordinarily) : campaign
  }

  /// The numbers of steps after which a test interrupts something: every so many, or all in its campaign.
  package static func steps(every stride: Int) -> StrideTo<Int> {
    Swift.stride(from: 0, to: .max, by: isOrdinary ? stride : 1)
  }
}
