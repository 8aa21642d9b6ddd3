import AdvancedOperations
import AdvancedOperationsTesting
import EarthquakeKit
import EarthquakeWorkflow
import Foundation
import Testing

/// A simulated world with a folder of its own, in which workflows run in virtual time.
final class ImportWorld {
  let simulation: SimulatedEnvironment
  private let folder: TemporaryFolder

  init(seed: UInt64 = 1) throws {
    simulation = SimulatedEnvironment(seed: seed)
    folder = try TemporaryFolder()
  }

  var database: DatabaseFile { DatabaseFile(path("quakes.sqlite")) }

  func path(_ name: String) -> String { folder.path(name) }

  /// Every file in the folder with its bytes: what a failure must not change.
  func files() throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path())
    return Dictionary(
      uniqueKeysWithValues: try names.map {
        ($0, try Data(contentsOf: folder.url.appending(path: $0)))
      }
    )
  }

  @discardableResult
  func write(_ data: Data, to name: String) throws -> String {
    try data.write(to: folder.url.appending(path: name))
    return path(name)
  }

  /// Writes a feed and asks for its import.
  func request(_ data: Data, name: String = "feed.geojson") throws -> ImportRequest {
    ImportRequest(source: .file(path: try write(data, to: name)), database: database)
  }

  /// Asks for a download.
  func request(feed: String) -> ImportRequest {
    ImportRequest(source: .published(name: feed), database: database)
  }

  /// Stores a feed, so that there is something that must not be lost.
  func store(_ data: Data) throws {
    try EarthquakeDatabase(path: database.path).store(try Feed.parse(data))
  }

  /// Fails: a workflow that has a file downloads nothing.
  static let noDownload: ImportWorkflow.Download = { url, _, _ in
    throw UnexpectedDownload(url: url)
  }

  /// Runs a workflow to its end.
  @discardableResult
  func run(
    _ request: ImportRequest,
    patience: Patience = Patience(isExhaustible: true),
    download: @escaping ImportWorkflow.Download = ImportWorld.noDownload,
    prepare: (ImportWorkflow) -> Void = { _ in }
  ) -> ImportWorkflow {
    let workflow = ImportWorkflow(request, patience: patience, download: download)
    prepare(workflow)
    AdvancedOperationQueue(environment: simulation.environment).addOperation(workflow.operation)
    simulation.run()
    return workflow
  }
}

/// Something was downloaded by a workflow that has a file.
struct UnexpectedDownload: Error {
  var url: URL
}

extension ImportWorkflow {
  /// The tree of all that went wrong; empty when nothing did.
  var tree: String { operation.outcome?.failure?.description ?? "" }

  /// The names of the steps that executed and succeeded.
  var succeeded: [String] { steps.filter { $0.outcome?.isSuccess == true }.compactMap(\.name) }

  func step(_ name: String) throws -> AdvancedOperation {
    try #require(steps.first { $0.name == name })
  }

  /// Why storing was skipped; `nil` if it wasn't.
  var skipReason: String? {
    guard case .skipped(let reason) = store.outcome else { return nil }
    return reason
  }
}
