public import AdvancedOperations
public import EarthquakeKit
public import Foundation
import Synchronization
import TerminalSupport

/// Gets a feed, stores what is new in it, and reports what the database holds then.
///
/// ```
/// locate → download or open → validate → parse → store → report → map
/// ```
///
/// Each step is an operation that says what must hold before it runs. What goes wrong in one is
/// told by all that needed its value, except for the report: it comes after storing, however that
/// went.
///
/// ```swift
/// let workflow = ImportWorkflow(request, download: download)
/// let report = try await AdvancedOperationQueue().run(workflow.report)
/// ```
public struct ImportWorkflow: Sendable {
  /// Gets what is at an address, within a time and with at most so many bytes.
  public typealias Download =
    @Sendable (_ url: URL, _ timeout: Duration, _ maximum: Int64)
    async throws -> Data

  /// How often a download is tried before it fails.
  public static let downloadAttempts = 3

  /// All steps as one: add it to a queue, cancel it to stop everything; its failure is the tree of
  /// all that went wrong.
  public let operation: GroupOperation

  /// The steps in the order in which they run.
  public let steps: [AdvancedOperation]

  /// Stores the feed; skipped when there is nothing new in it.
  ///
  /// A cancel that comes while SQLite commits is too late for the database: the feed is stored, and
  /// the operation is cancelled all the same, so that it has no value. See ``stored``.
  public let store: ResultOperation<StoreSummary>

  /// What was stored, from the moment when it is in the database; `nil` as long as nothing is.
  ///
  /// It says what is so, also when the workflow was cancelled or failed.
  public var stored: StoreSummary? { committed.value }

  /// Reports what the database holds; skipped when something failed and that is nothing.
  public let report: ResultOperation<Report>

  /// Draws the map, and gives its path; `nil` when none was asked for.
  public let map: ResultOperation<String>?

  private let committed: Committed

  /// Composes the steps.
  ///
  /// - Parameters:
  ///   - request: What to do.
  ///   - download: Gets a feed from its address; not called for a feed that is a file.
  public init(_ request: ImportRequest, download: @escaping Download) {
    self.init(request, patience: Patience(isExhaustible: true), download: download)
  }

  /// Composes the steps.
  ///
  /// - Parameters:
  ///   - request: What to do.
  ///   - patience: How long to wait for other processes that use the database.
  ///   - download: Gets a feed from its address; not called for a feed that is a file.
  package init(_ request: ImportRequest, patience: Patience, download: @escaping Download) {
    let database = DatabaseAccess(file: request.database, patience: patience)
    committed = Committed()
    let locate = Self.locate(request, database)
    let fetch =
      switch request.source {
      case .published: Self.download(from: locate, request, download)
      case .file, .shipped: Self.open(locate, request)
      }
    let validate = fetch.then(name: "validate") { data in
      try request.source.namingItself { try Feed.validate(data) }
    }
    let parse = ResultOperation(name: "parse", after: fetch, validate) { data, _ in
      try request.source.namingItself { try Feed.parse(data) }
    }
    store = Self.store(parse, request, database, committed)
    store.addCondition(
      RoomToStore(database: database, spare: request.freeSpace) {
        guard let data = try fetch.result?.get(), let feed = try parse.result?.get() else {
          return nil
        }
        return RoomToStore.Feed(
          size: ByteCount(bytes: Int64(data.count)),
          metadata: request.storesAgain ? nil : feed.metadata
        )
      }
    )
    report = Self.report(after: store, database)
    map = request.mapPath.map { [report] in Self.map(of: report, database, path: $0) }
    let steps = [locate, fetch, validate, parse, store, report] + (map.map { [$0] } ?? [])
    self.steps = steps
    operation = GroupOperation(name: "earthquakes") { steps }
  }

  // MARK: Steps

  private static func locate(
    _ request: ImportRequest,
    _ database: DatabaseAccess
  ) -> ResultOperation<URL> {
    let locate = ResultOperation(name: "locate") {
      switch request.source {
      case .shipped: try NotableEarthquakes.located()
      case .file(let path): URL(filePath: path)
      case .published(let name): try FeedAddress(named: name).url
      }
    }
    locate.addCondition(DatabaseIsUsable(database: database))
    return locate
  }

  private static func open(
    _ locate: ResultOperation<URL>,
    _ request: ImportRequest
  ) -> ResultOperation<Data> {
    let open = locate.then(name: "open") { url in
      try FeedFile(path: url.path(percentEncoded: false)).read(atMost: request.maximumSize)
    }
    guard case .file(let path) = request.source else { return open }
    // In order: asking for the size of a file that isn't there would only say the same again.
    open.conditionPolicy = .stopAtFirstFailure
    open.addCondition(FileExists(path, isReadable: true))
    open.addCondition(SizeLimit(path: path, maximum: request.maximumSize))
    return open
  }

  private static func download(
    from locate: ResultOperation<URL>,
    _ request: ImportRequest,
    _ download: @escaping Download
  ) -> ResultOperation<Data> {
    // Each attempt gets its share, so that a server that doesn't answer is asked again.
    let share = request.downloadTime / downloadAttempts
    let retry = RetryPolicy.exponential(.seconds(1)).attempts(downloadAttempts)
      .when { ($0 as? DownloadError)?.mayPass ?? true }
    let fetch = locate.then(name: "download", retry: retry) { url in
      try await download(url, share, request.maximumSize.bytes)
    }
    fetch.addObserver(TimeoutObserver(request.downloadTime))
    return fetch
  }

  private static func store(
    _ parse: ResultOperation<Feed>,
    _ request: ImportRequest,
    _ database: DatabaseAccess,
    _ committed: Committed
  ) -> ResultOperation<StoreSummary> {
    let store = parse.then(name: "store") { feed in
      // Taken here, in the body's task: the checkpoint is called from inside of SQLite.
      let operation = AdvancedOperation.current
      let total = Int64(feed.metadata.count)
      return try database.use { database in
        if !request.storesAgain { try skipUnlessNew(feed.metadata, in: database) }
        let summary = try database.store(feed) { done in
          // Thrown inside of the transaction, which is rolled back.
          if operation?.isCancelled == true { throw CancellationError() }
          operation?.updateProgress(completed: Int64(done), total: total)
        }
        committed.value = summary
        return summary
      }
    }
    store.addClaim(exclusiveUse(of: database.file))
    return store
  }

  /// Throws unless a feed was generated after what is stored of it.
  ///
  /// Called with the claim of the database held: what another import of the process stores is there.
  private static func skipUnlessNew(
    _ feed: FeedMetadata,
    in database: EarthquakeDatabase
  ) throws {
    guard let stored = try database.newest(of: feed) else { return }
    throw OperationSkipped(
      reason: "nothing new: the database has “\(feed.title.excerpt(60))” as of "
        + "\(stored.isoSeconds) already"
    )
  }

  private static func report(
    after store: ResultOperation<StoreSummary>,
    _ database: DatabaseAccess
  ) -> ResultOperation<Report> {
    let report = ResultOperation(name: "report") {
      try database.use { try $0.report() }
    }
    // After storing, whatever came of it: no value is needed from there.
    report.addDependency(store)
    report.addCondition(SomethingToReport(store: store, database: database))
    report.addClaim(exclusiveUse(of: database.file))
    return report
  }

  private static func map(
    of report: ResultOperation<Report>,
    _ database: DatabaseAccess,
    path: String
  ) -> ResultOperation<String> {
    let map = report.then(name: "map") { report in
      let title = report.feeds.count == 1 ? report.feeds[0].title : "Earthquakes"
      let earthquakes = try database.use { try $0.earthquakes() }
      try MapFile(path: path).write(EarthquakeMap(title: title, earthquakes: earthquakes).svg())
      return path
    }
    map.addCondition(FolderExists(path: path))
    map.addClaim(exclusiveUse(of: database.file))
    return map
  }

  /// One operation at a time in one database, in all workflows of the process.
  ///
  /// SQLite would make them wait as well, but each with a thread; waiting for a claim needs none.
  static func exclusiveUse(of database: DatabaseFile) -> MutuallyExclusive<String> {
    MutuallyExclusive("database \(database.path)")
  }
}

/// What is in the database for good; written by the operation that stores.
private final class Committed: Sendable {
  private let summary = Mutex<StoreSummary?>(nil)

  var value: StoreSummary? {
    get { summary.withLock { $0 } }
    set { summary.withLock { $0 = newValue } }
  }
}

extension NotableEarthquakes {
  /// Where the catalogue is, or the error that says why it isn't.
  fileprivate static func located() throws -> URL {
    guard let url else {
      _ = try data()
      throw CocoaError(.fileNoSuchFile)
    }
    return url
  }
}
