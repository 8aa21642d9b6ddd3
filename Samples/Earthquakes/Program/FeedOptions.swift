import ArgumentParser
import EarthquakeKit
import EarthquakeWorkflow

/// What the command line says about the feed.
struct FeedOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Read a feed that was downloaded before.", valueName: "path"),
    completion: .file(extensions: ["geojson", "json"])
  )
  var file: String?

  @Option(
    help: ArgumentHelp("Download a feed from the USGS, such as 4.5_week.", valueName: "name"),
    completion: .list(FeedAddress.all.map(\.name))
  )
  var feed: String?

  @Option(
    help: ArgumentHelp(
      "Refuse feeds that are larger, such as 500kB, 50MB or 1GiB.",
      valueName: "size"
    )
  )
  var maxSize = ByteCount.megabytes(50)

  @Option(
    help: ArgumentHelp(
      "How long a download may take, retries included.",
      valueName: "seconds"
    )
  )
  var timeout = 60

  var source: FeedSource {
    if let file { return .file(path: file) }
    if let feed { return .published(name: feed) }
    return .shipped
  }

  func validate() throws {
    if file != nil, feed != nil {
      throw ValidationError(
        "--file and --feed exclude each other: give the file that you have, or the name of the "
          + "feed to download."
      )
    }
    if file == "" { throw ValidationError("--file needs the path of a file, and got nothing.") }
    if timeout < 1 { throw ValidationError("--timeout must be one second or more.") }
    guard let feed else { return }
    do {
      _ = try FeedAddress(named: feed)
    } catch {
      throw ValidationError("\(error)")
    }
  }
}
