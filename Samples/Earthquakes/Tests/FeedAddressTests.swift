import EarthquakeKit
import Foundation
import Testing

@Suite struct `The address of a feed` {
  @Test(arguments: ["significant_month", "4.5_week", "2.5_day", "1.0_hour", "all_day"])
  func `follows from its name`(name: String) throws {
    let address = try FeedAddress(named: name)
    #expect(address.name == name)
    #expect(
      address.url.absoluteString
        == "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/\(name).geojson"
    )
  }

  @Test func `exists for five strengths and four periods`() {
    #expect(Set(FeedAddress.all).count == 20)
    #expect(FeedAddress.all.first?.name == "significant_hour")
    #expect(FeedAddress.all.last?.name == "all_month")
  }

  @Test(arguments: [
    ("significant_mont", "significant_month"), ("4.5week", "4.5_week"), ("ALL_DAY", "all_day"),
    ("all_weeks", "all_week"), ("1_hour", "1.0_hour"),
  ])
  func `of an unknown name is an error with the closest name`(name: String, closest: String) {
    let error = #expect(throws: FeedAddressError.self) { try FeedAddress(named: name) }
    #expect(error?.closestName == closest)
    #expect(
      error?.description.hasPrefix(
        "There is no feed named “\(name)”. Did you mean “\(closest)”? The feeds are: "
      ) == true
    )
  }

  @Test func `of an unknown name is an error with all names`() {
    let error = #expect(throws: FeedAddressError.self) { try FeedAddress(named: "") }
    for address in FeedAddress.all {
      #expect(error?.description.contains(address.name) == true)
    }
    #expect(error?.localizedDescription == error?.description)
  }
}
