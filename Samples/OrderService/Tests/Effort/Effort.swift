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

  /// Some of the cases of a test that goes through all combinations: every so many, or all of its
  /// campaign.
  package static func some<Case>(_ cases: [Case], every stride: Int) -> [Case] {
    isOrdinary ? Swift.stride(from: 0, to: cases.count, by: stride).map { cases[$0] } : cases
  }
}
