/// What one run of the workflow is to do.
public struct ImportRequest: Sendable {
  /// Where the feed comes from.
  public var source: FeedSource

  /// Where the events go.
  public var database: DatabaseFile

  /// Whether to store a feed that is not newer than what was stored of it.
  public var storesAgain = false

  /// How large a feed may be.
  public var maximumSize = ByteCount.megabytes(50)

  /// How long a download may take, retries included.
  public var downloadTime = Duration.seconds(60)

  /// How much room the database's disk must have.
  ///
  /// The largest feed, that of all events of a month, adds some 2 MB; SQLite needs as much again
  /// until the transaction ends, and nobody likes a disk without any room left.
  public var freeSpace = ByteCount.megabytes(20)

  /// Where to draw the map, as SVG; nowhere if `nil`.
  public var mapPath: String?

  /// Creates a request with the defaults for everything else.
  public init(source: FeedSource, database: DatabaseFile) {
    self.source = source
    self.database = database
  }
}
