import Foundation

/// A folder for the files of a service, which is removed with this.
final class ServiceFolder {
  let url = FileManager.default.temporaryDirectory.appending(path: "service-\(UUID())")

  init() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The path of a file in it.
  func path(_ name: String) -> String { url.appending(path: name).path }

  /// The database of the service.
  var database: String { path("orders.sqlite") }
}
