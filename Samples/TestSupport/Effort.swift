import Foundation

/// The numbers of seeds and sizes that tests try.
///
/// By default a test shows its promise once, quickly. `OPERATIONS_TESTS=full` runs the campaigns. A test passes
/// the number of its campaign; the default is decided here.
package enum Effort {
  /// Whether only the default is tried.
  package static let isOrdinary =
    ProcessInfo.processInfo.environment["OPERATIONS_TESTS"] != "full"
    && ProcessInfo.processInfo.environment["OPERATIONS_NIGHTLY"] == nil

  /// The seeds of a test that draws its choices: at most five, or those of its campaign.
  package static func seeds(_ campaign: UInt64) -> ClosedRange<UInt64> {
    1...(isOrdinary ? min(campaign, 5) : campaign)
  }

  /// The size of a large text: at most 20,000, or that of its campaign.
  package static func size(_ campaign: Int) -> Int { isOrdinary ? min(campaign, 20_000) : campaign }
}
