import EarthquakeKit
import Foundation

/// Eight events whose every count can be worked out by hand; ReportTests does so.
enum TinyFeed {
  static var data: Data {
    FeedText.feed([
      event("a", mag: "5.0", time: 1_577_836_800_000, depth: "10"),
      event("b", mag: "4.99", time: 1_577_923_200_500, depth: "70"),
      event("c", mag: "-0.5", time: 1_578_009_600_000, depth: "-2.5", type: "\"quarry_blast\""),
      event("d", mag: "-1.0", time: 1_578_096_000_000, depth: "300", type: "\"quarry blast\""),
      event("e", mag: "null", time: 1_578_182_400_000, depth: "300.1", type: "\"Quarry Blast\""),
      FeedText.feature(
        id: "\"f\"",
        mag: "0",
        place: "null",
        time: "1578268800000",
        type: "null",
        geometry: "null"
      ),
      event("g", mag: "5", time: 1_578_355_200_000, depth: "null", type: "\"explosion\""),
      event("h", mag: "8.25", time: -303_281_320_000, depth: "600"),
    ])
  }

  private static func event(
    _ id: String,
    mag: String,
    time: Int,
    depth: String,
    type: String = "\"earthquake\""
  ) -> String {
    FeedText.feature(
      id: "\"\(id)\"",
      mag: mag,
      place: "\"Place \(id)\"",
      time: "\(time)",
      type: type,
      geometry: FeedText.point(depth: depth)
    )
  }
}
