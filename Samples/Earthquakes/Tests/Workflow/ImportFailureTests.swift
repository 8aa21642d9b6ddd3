import AdvancedOperations
import EarthquakeKit
import EarthquakeWorkflow
import Foundation
import GRDB
import Testing

@Suite struct `An import that fails` {
  /// A feed that is no good, and the beginning of the tree that says why, with `PATH` for its path.
  struct BadText: CustomTestStringConvertible {
    var testDescription: String
    var text: String
    var tree: String
  }

  private static let huge = String(
    decoding: FeedText.feed([FeedText.feature(mag: "1e400")]),
    as: UTF8.self
  )
  private static let hugeColumn = huge.split(separator: "1e400")[0].count + 1

  static let badFeeds = [
    BadText(
      testDescription: "cut off",
      text: String(String(decoding: TinyFeed.data, as: UTF8.self).dropLast(40)),
      tree: "child “validate”\n  PATH: The feed is cut off: it ends after "
    ),
    BadText(
      testDescription: "not JSON",
      text: "<!DOCTYPE html><html></html>",
      tree: "child “validate”\n  PATH: The feed is not JSON: it looks like an HTML page."
    ),
    BadText(
      testDescription: "the wrong JSON",
      text: #"{"type":"FeatureCollection","features":[]}"#,
      tree:
        "child “validate”\n  PATH: The file is JSON but not an earthquake feed: the outermost value "
        + "has no “metadata”."
    ),
    BadText(
      testDescription: "a comma too many",
      text: String(decoding: TinyFeed.data, as: UTF8.self).replacing("}]}", with: "},]}"),
      tree: "child “validate”\n  PATH: The feed is broken JSON: in line 8, column "
    ),
    BadText(
      testDescription: "a number beyond all",
      text: huge,
      tree:
        "child “parse”\n  PATH: The feed is broken JSON: in line 1, column \(hugeColumn), inside "
        + "features[0].properties.mag, is the number “1e400”"
    ),
    BadText(
      testDescription: "empty",
      text: "",
      tree: "child “validate”\n  PATH: The feed is empty"
    ),
    BadText(
      testDescription: "an event without a time",
      text: String(
        decoding: FeedText.feed([FeedText.feature(time: "null")]),
        as: UTF8.self
      ),
      tree: "child “parse”\n  PATH: The file is JSON but not an earthquake feed: "
        + "features[0].properties.time should be "
    ),
  ]

  @Test(arguments: badFeeds)
  func `because of a bad feed names the step and leaves the database as it was`(
    bad: BadText
  ) throws {
    let world = try ImportWorld()
    try world.store(TinyFeed.data)
    let request = try world.request(Data(bad.text.utf8))
    let before = try world.files()
    let workflow = world.run(request)
    let tree = bad.tree.replacing("PATH", with: world.path("feed.geojson"))
    #expect(workflow.tree.hasPrefix(tree), "\(workflow.tree)")
    #expect(try world.files() == before)
    #expect(try workflow.report.result?.get().count == 8)
  }

  @Test(arguments: badFeeds)
  func `reports nothing where the database holds nothing, and creates none`(bad: BadText) throws {
    let world = try ImportWorld()
    let request = try world.request(Data(bad.text.utf8))
    let before = try world.files()
    let workflow = world.run(request)
    guard case .skipped(let reason) = workflow.report.outcome else {
      Issue.record("\(String(describing: workflow.report.outcome))")
      return
    }
    #expect(reason == "the database holds nothing")
    #expect(try world.files() == before)
  }

  @Test func `a failure because of a missing file names the condition once`() throws {
    let world = try ImportWorld()
    let path = world.path("none.geojson")
    let workflow = world.run(ImportRequest(source: .file(path: path), database: world.database))
    #expect(
      workflow.tree == """
        child “open”
          condition “file exists”: There is no file at \(path).
        3 others did not run
        """
    )
  }

  @Test func `because the file is a folder says so`() throws {
    let world = try ImportWorld()
    let path = world.path("")
    let workflow = world.run(ImportRequest(source: .file(path: path), database: world.database))
    #expect(workflow.tree.hasPrefix("child “open”\n  \(path) is a folder."))
  }

  @Test func `because the file is too large doesn't read it`() throws {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    request.maximumSize = ByteCount(bytes: Int64(TinyFeed.data.count - 1))
    let workflow = world.run(request)
    #expect(
      workflow.tree.hasPrefix(
        "child “open”\n  condition “not too large”: The feed has more than "
      )
    )
    #expect(workflow.tree.contains("allow a larger size with --max-size."))
    request.maximumSize.bytes += 1
    #expect(world.run(request).operation.outcome?.isSuccess == true)
  }

  @Test func `a failure because of another file reads no feed and changes nothing`() throws {
    let world = try ImportWorld()
    let request = try world.request(TinyFeed.data)
    try world.write(Data(String(repeating: "a letter. ", count: 200).utf8), to: "quakes.sqlite")
    let before = try world.files()
    let workflow = world.run(request)
    #expect(
      workflow.tree.hasPrefix(
        "child “locate”\n  condition “database is usable”: The file \(world.database.path) is not "
          + "an SQLite database"
      )
    )
    #expect(workflow.succeeded.isEmpty)
    #expect(try world.files() == before)
  }

  @Test func `because the database is another program's changes nothing`() throws {
    let world = try ImportWorld()
    let request = try world.request(TinyFeed.data)
    try DatabaseQueue(path: world.database.path).write {
      try $0.execute(sql: "CREATE TABLE song (title)")
    }
    let before = try world.files()
    let workflow = world.run(request)
    #expect(workflow.tree.contains("is an SQLite database of another program."))
    #expect(try world.files() == before)
  }

  @Test func `because the database's folder doesn't exist says so before reading`() throws {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    request.database = DatabaseFile(world.path("no/such/quakes.sqlite"))
    let tree = world.run(request).tree
    #expect(tree.hasPrefix("child “locate”\n  condition “database is usable”: The database "))
    #expect(tree.contains("cannot be created: there is no folder"))
  }

  @Test func `because the disk is full names the condition`() throws {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    request.freeSpace = ByteCount(bytes: .max)
    let workflow = world.run(request)
    #expect(workflow.tree.hasPrefix("child “store”\n  condition “free space”: The volume of "))
    let hint = "Free some space there, or have the database elsewhere with --database."
    #expect(workflow.tree.contains(hint))
    #expect(try world.files().keys.sorted() == ["feed.geojson"])
  }

  @Test func `because the disk is full does not, where nothing is new`() throws {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    world.run(request)
    request.freeSpace = ByteCount(bytes: .max)
    let again = world.run(request)
    #expect(again.operation.outcome?.isSuccess == true)
    #expect(again.skipReason?.hasPrefix("nothing new") == true)
    request.storesAgain = true
    #expect(world.run(request).tree.contains("condition “free space”"))
  }

  @Test func `because the disk is full asks for as much as the feed has, and a little more`() throws
  {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    request.freeSpace = ByteCount(bytes: .max - Int64(TinyFeed.data.count))
    let tree = world.run(request).tree
    #expect(tree.contains("9,223,372,036,854,775,807 bytes) are needed"), "\(tree)")
    let ordinary = ImportRequest(source: .shipped, database: world.database)
    #expect(ordinary.freeSpace < .megabytes(1))
  }

  #if os(Linux)
  @Test func `because the database can't be written names the step`() throws {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    // In this folder not even the superuser can create a file.
    request.database = DatabaseFile("/proc/quakes.sqlite")
    // Where there is no room at all, so that none is asked for.
    request.freeSpace = ByteCount(bytes: -Int64(TinyFeed.data.count))
    let workflow = world.run(request)
    #expect(
      workflow.tree.hasPrefix(
        "child “store”\n  The database /proc/quakes.sqlite cannot be opened: "
      )
    )
    #expect(workflow.report.outcome?.failure == nil)
  }
  #endif

  @Test func `because the map's folder doesn't exist has stored and reported`() throws {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    request.mapPath = world.path("none/map.svg")
    let workflow = world.run(request)
    #expect(workflow.tree.hasPrefix("child “map”\n  condition “folder exists”: The file "))
    #expect(workflow.succeeded.suffix(2) == ["store", "report"])
  }

  @Test func `because the map would replace another file leaves that alone`() throws {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    request.mapPath = world.path("feed.geojson")
    let workflow = world.run(request)
    #expect(workflow.tree.hasPrefix("child “map”\n  The file \(world.path("feed.geojson")) has "))
    #expect(try world.files()["feed.geojson"] == TinyFeed.data)
  }
}
