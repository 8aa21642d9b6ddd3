import Foundation

/// Writes feeds as JSON text, so that tests can have any oddity in them.
enum FeedText {
  /// One feature; the values are JSON, so a text has its own quotation marks.
  static func feature(
    id: String = "\"x1\"",
    mag: String = "1.5",
    magType: String = "\"ml\"",
    place: String = "\"Somewhere\"",
    time: String = "1577836800000",
    updated: String = "1577840400000",
    type: String = "\"earthquake\"",
    geometry: String = #"{"type":"Point","coordinates":[10.5,-20.25,30]}"#,
    ids: String = "null",
    status: String = "\"reviewed\""
  ) -> String {
    """
    {"type":"Feature","properties":{"mag":\(mag),"place":\(place),"time":\(time),\
    "updated":\(updated),"tz":null,"felt":null,"magType":\(magType),"type":\(type),\
    "ids":\(ids),"status":\(status)},\
    "geometry":\(geometry),"id":\(id)}
    """
  }

  /// A feed with features as above; it says that it has as many as it has, unless told otherwise.
  static func feed(
    _ features: [String],
    generated: String = "1600000000000",
    url: String = "https://example.org/feed.geojson",
    count: String? = nil
  ) -> Data {
    let metadata = """
      {"generated":\(generated),"url":"\(url)","title":"A feed","status":200,"api":"1.10.3",\
      "count":\(count ?? "\(features.count)")}
      """
    return Data(
      """
      {"type":"FeatureCollection","metadata":\(metadata),\
      "features":[\(features.joined(separator: ",\n"))]}
      """.utf8
    )
  }

  /// The middle of a feature's geometry, for a depth.
  static func point(depth: String) -> String {
    #"{"type":"Point","coordinates":[10.5,-20.25,\#(depth)]}"#
  }
}
