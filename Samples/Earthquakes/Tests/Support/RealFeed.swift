import Foundation
import Testing

/// The feeds that lie outside of the repository, as the USGS published them.
///
/// `OPERATIONS_TEST_DATA` names the folder that has them in its folder `usgs`.
enum RealFeed: String, CaseIterable, CustomTestStringConvertible {
  case allDay2014 = "all_day_2014"
  case allWeek2022 = "all_week_2022"
  case significantMonth2014 = "significant_month_2014"

  var testDescription: String { rawValue }

  /// The bytes of the feed; where they are not to be had, says so in a line and returns `nil`.
  func data(for check: String) throws -> Data? {
    guard let folder = ProcessInfo.processInfo.environment["OPERATIONS_TEST_DATA"] else {
      print("SKIPPED: \(check), with \(rawValue): OPERATIONS_TEST_DATA is not set")
      return nil
    }
    let file = URL(filePath: folder).appending(path: "usgs/\(rawValue).geojson")
    guard FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) else {
      print("SKIPPED: \(check), with \(rawValue): OPERATIONS_TEST_DATA has no such feed")
      return nil
    }
    return try Data(contentsOf: file)
  }
}
