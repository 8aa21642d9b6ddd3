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

  /// How much room the database's disk must have when there is something to store, besides as many
  /// bytes as the feed has.
  ///
  /// Events take a quarter of that in the database, and SQLite needs as much again until the
  /// transaction ends. This is for a new database without any.
  public var freeSpace = ByteCount(bytes: 200_000)

  /// Where to draw the map, as SVG; nowhere if `nil`.
  public var mapPath: String?

  /// Creates a request with the defaults for everything else.
  public init(source: FeedSource, database: DatabaseFile) {
    self.source = source
    self.database = database
  }
}
