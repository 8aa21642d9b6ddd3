import EarthquakeWorkflow
import Foundation
import Testing

@testable import earthquakes

@Suite struct `The database that the command line asks for` {
  @Test func `without a path is in a folder of its own, and removed with it`() throws {
    let option = try DatabaseOption(path: nil)
    let folder = URL(filePath: option.file.path).deletingLastPathComponent()
    #expect(option.isTemporary)
    #expect(FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)))
    // What an interruption leaves while the first events are stored.
    try Data().write(to: URL(filePath: option.file.path))
    option.remove()
    #expect(!FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)))
  }

  @Test func `is shown as it was given`() throws {
    let option = try DatabaseOption(path: "quakes.sqlite")
    #expect(option.shownPath == "quakes.sqlite")
    #expect(option.file.path.hasPrefix("/") && option.file.path.hasSuffix("/quakes.sqlite"))
    let temporary = try DatabaseOption(path: nil)
    #expect(temporary.shownPath == temporary.file.path)
    temporary.remove()
  }

  @Test func `is never removed if its path was given`() throws {
    let folder = try TemporaryFolder()
    let option = try DatabaseOption(path: folder.write(Data(), to: "quakes.sqlite"))
    #expect(!option.isTemporary)
    option.remove()
    #expect(FileManager.default.fileExists(atPath: folder.path("quakes.sqlite")))
  }
}
