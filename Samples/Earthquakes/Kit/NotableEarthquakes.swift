public import Foundation

/// The catalogue that comes with the program: notable earthquakes since 1900, as a feed.
///
/// It needs no network and never changes, so examples and tests can count on it. The `README.md`
/// beside the file says where its numbers are from.
///
/// The file lies in the folder `Samples_EarthquakeKit.resources` that is built next to the program.
/// Where the program is copied elsewhere, the folder has to go with it: the accessor that the
/// package manager generates, `Bundle.module`, traps without it.
public enum NotableEarthquakes {
  /// The file of the catalogue, or `nil` if it was taken out of the folder of resources.
  public static var url: URL? {
    Bundle.module.url(forResource: "notable", withExtension: "geojson")
  }

  /// The bytes of the catalogue, in the format of the feeds.
  ///
  /// - Returns: The bytes, which ``Feed/parse(_:)`` reads.
  /// - Throws: A `CocoaError` if the file was taken out of the folder of resources.
  public static func data() throws -> Data {
    guard let url else {
      throw CocoaError(
        .fileNoSuchFile,
        userInfo: [
          NSLocalizedDescriptionKey:
            "The catalogue notable.geojson is not among the resources of the program. Build the "
            + "program again, or copy its folder of resources along with it."
        ]
      )
    }
    return try Data(contentsOf: url)
  }
}
