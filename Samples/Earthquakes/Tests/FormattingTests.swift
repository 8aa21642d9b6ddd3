import Foundation
import Testing

@testable import EarthquakeKit

@Suite struct `Formats` {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (1_657_039_408_082, "2022-07-05T16:43:28.082Z"),
      (951_782_400_001, "2000-02-29T00:00:00.001Z"),
      (-2_208_988_800_000, "1900-01-01T00:00:00.000Z"),
      (-11_676_096_000_000, "1600-01-01T00:00:00.000Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ] as [(Int64, String)]
  )
  func `of times are exact`(milliseconds: Int64, text: String) {
    let date = Date(milliseconds: milliseconds)
    #expect(date.milliseconds == milliseconds)
    #expect(date.isoMilliseconds == text)
    #expect(date.isoSeconds == "\(text.prefix(19))Z")
  }

  @Test func `of times are exact for every millisecond of a second`() {
    for millisecond in 0..<1_000 as Range<Int64> {
      let date = Date(milliseconds: 1_657_039_408_000 + millisecond)
      #expect(date.milliseconds == 1_657_039_408_000 + millisecond)
      #expect(date.isoMilliseconds.hasSuffix(String(format: ".%03dZ", Int(millisecond))))
    }
  }

  @Test func `of impossible times do not trap`() {
    #expect(Date(timeIntervalSince1970: .infinity).milliseconds == .max)
    #expect(Date(timeIntervalSince1970: -.infinity).milliseconds == .min)
  }

  @Test(arguments: [(1.0, "1"), (1.005, "1"), (1.25, "1.25"), (-0.001, "0"), (46.004, "46")])
  func `of lengths are short`(length: Double, text: String) {
    #expect(length.short == text)
  }
}
