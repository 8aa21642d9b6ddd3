#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// The numbers of seeds, schedules, rounds and operations that tests try.
///
/// By default a test shows its promise once, in well under a second. `OPERATIONS_TESTS=full` runs
/// the campaigns (`stress` runs those of StressTests) that look for what nobody thought of, and
/// `OPERATIONS_NIGHTLY` makes them longer. A test passes the number of its campaign; the default is
/// decided here.
package enum Effort {
  /// How much is tried.
  package enum Level: Sendable {
    case ordinary, full, nightly
  }

  package static let level: Level =
    if isSet("OPERATIONS_NIGHTLY") {
      .nightly
    } else {
      ["full", "stress"].contains(text("OPERATIONS_TESTS")) ? .full : .ordinary
    }

  package static var isOrdinary: Bool { level == .ordinary }
  package static var isNightly: Bool { level == .nightly }

  /// The seeds of a test that draws its choices: five of them, or those of its campaign.
  package static func seeds(_ campaign: Int = 50) -> ClosedRange<UInt64> {
    1...UInt64(isOrdinary ? min(campaign, 5) : campaign)
  }

  /// The schedules of an exploration: at most 110, or those of its campaign.
  package static func schedules(_ campaign: Int, nightly: Int? = nil) -> Int {
    number(campaign, nightly: nightly, atMost: 110)
  }

  /// The schedules that are drawn at random: at most 10, or those of its campaign.
  package static func drawn(_ campaign: Int, nightly: Int? = nil) -> Int {
    number(campaign, nightly: nightly, atMost: 10)
  }

  /// The rounds of a test that waits for a race: at most 20, or those of its campaign.
  package static func rounds(_ campaign: Int, nightly: Int? = nil) -> Int {
    number(campaign, nightly: nightly, atMost: 20)
  }

  /// The operations of a test of a large workflow: at most 2,000, or those of its campaign.
  ///
  /// 2,000 nested calls don't overflow the stack of a thread, so a test of depth passes a larger
  /// number as `ordinarily`.
  package static func size(_ campaign: Int, ordinarily: Int = 2_000) -> Int {
    number(campaign, nightly: nil, atMost: ordinarily)
  }

  /// The orders of its steps in which a workflow is restarted: at most 2, or those of its campaign.
  package static func orders(_ campaign: Int) -> Int { number(campaign, nightly: nil, atMost: 2) }

  /// Some of the cases of a test that goes through all combinations: every so many, or all of its
  /// campaign.
  package static func some<Case>(_ cases: [Case], every stride: Int) -> [Case] {
    isOrdinary ? Swift.stride(from: 0, to: cases.count, by: stride).map { cases[$0] } : cases
  }

  private static func number(_ campaign: Int, nightly: Int?, atMost: Int) -> Int {
    switch level {
    case .ordinary: min(campaign, atMost)
    case .full: campaign
    case .nightly: nightly ?? campaign
    }
  }

  /// A number from the environment.
  package static func number(_ name: String) -> Int? { text(name).flatMap { Int($0) } }

  /// A text from the environment.
  package static func text(_ name: String) -> String? {
    guard let text = unsafe getenv(name) else { return nil }
    return unsafe String(cString: text)
  }

  private static func isSet(_ name: String) -> Bool { text(name) != nil }
}
