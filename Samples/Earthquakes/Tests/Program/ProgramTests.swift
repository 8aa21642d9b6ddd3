import EarthquakeKit
import Foundation
import Testing

/// Runs of the built program, with what it says to standard output and to standard error.
@Suite(.serialized, .timeLimit(.minutes(2))) struct `The program` {
  private let folder: TemporaryFolder
  private let database: String

  init() throws {
    folder = try TemporaryFolder()
    database = folder.path("quakes.sqlite")
  }

  @Test func `without arguments reports its catalogue and says where the database is`() throws {
    let run = try ProgramRun([])
    #expect(run.status == 0)
    #expect(run.output.hasPrefix("Earthquakes\n  60 events\n"))
    #expect(
      run.output.contains(/\nDatabase\n  \/.*\/earthquakes-[0-9A-F]{8}\/earthquakes.sqlite\n$/)
    )
    #expect(run.errors.hasPrefix("Using a new database in a temporary folder: /"))
    #expect(run.errors.contains("\n5/6 store\n6/6 report\nStored 60 new events, "))
    #expect(!run.output.contains("\u{1B}"))
    #expect(!run.errors.contains("\u{1B}"))
  }

  @Test func `keeps what it stores, and says when there is nothing new`() throws {
    let feed = try folder.write(TinyFeed.data, to: "feed.geojson")
    let first = try ProgramRun(["--file", feed, "--database", database])
    #expect(first.status == 0)
    #expect(first.output.contains("\n  8 events\n"))
    #expect(first.output.hasSuffix("\nDatabase\n  \(database)\n"))
    #expect(!first.errors.contains("temporary"))
    let second = try ProgramRun(["--file", feed, "--database", database])
    #expect(second.status == 0)
    #expect(second.output == first.output)
    #expect(second.errors.contains("nothing new"))
    let forced = try ProgramRun(["--file", feed, "--database", database, "--force"])
    #expect(forced.status == 0)
    #expect(forced.errors.contains("Stored 0 new events, replaced 0, left 8 as they were."))
  }

  @Test func `writes JSON and nothing else to standard output`() throws {
    let run = try ProgramRun(["--format", "json", "--verbose"])
    #expect(run.status == 0)
    #expect(try run.report()["eventCount"] as? Int == 60)
    #expect(run.errors.contains("  operation     enqueued    started   finished  outcome\n"))
    #expect(run.errors.contains(/\n  store +0\.\d{3} s +\d\.\d{3} s +\d\.\d{3} s  succeeded\n/))
  }

  @Test func `draws a map`() throws {
    let run = try ProgramRun(["--map", folder.path("map.svg"), "--quiet"])
    #expect(run.status == 0)
    #expect(run.errors == "")
    let content = SVGContent(try String(contentsOfFile: folder.path("map.svg"), encoding: .utf8))
    #expect(content.isWellFormed)
    #expect(content.elements("circle", in: "events").count == 60)
    #expect(content.hasText("Notable Earthquakes since 1900"))
  }

  @Test func `the report has the requested width`() throws {
    let run = try ProgramRun([], environment: ["COLUMNS": "60"])
    #expect(run.output.split(separator: "\n").dropLast().map(\.count).max() == 60)
  }

  @Test func `fails with a tree and reports what the database holds`() throws {
    #expect(try ProgramRun(["--database", database]).status == 0)
    let before = try Data(contentsOf: URL(filePath: database))
    let run = try ProgramRun(["--file", folder.path("none"), "--database", database])
    #expect(run.status == 1)
    #expect(run.output.contains("\n  60 events\n"))
    #expect(
      run.errors.hasSuffix(
        """
        Error: not all steps succeeded.
          child “open”
            condition “file exists”: There is no file at \(folder.path("none")).
          3 others did not run

        """
      )
    )
    #expect(try Data(contentsOf: URL(filePath: database)) == before)
  }

  @Test(arguments: ["text", "json"])
  func `writes no report when it failed and there is nothing to report`(format: String) throws {
    let letter = try folder.write(Data("Dear reader, this is no feed.".utf8), to: "letter")
    for arguments in [["--file", letter], ["--database", letter]] {
      let run = try ProgramRun(arguments + ["--format", format])
      #expect(run.status == 1)
      #expect(run.output == "")
      #expect(run.errors.contains("Error: not all steps succeeded.\n  child “"))
    }
    #expect(try String(contentsOfFile: letter, encoding: .utf8).hasPrefix("Dear reader"))
  }

  @Test func `leaves no temporary folder when nothing came of it`() throws {
    let temporary = try TemporaryFolder()
    let run = try ProgramRun(["--file", "/none"], environment: ["TMPDIR": temporary.path("")])
    #expect(run.status == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path("")).isEmpty)
  }

  @Test(arguments: [
    ["--feed", "all_days"], ["--file", "a", "--feed", "all_day"], ["--max-size", "5XB"], ["x"],
  ])
  func `exits with 64 when the arguments are wrong`(arguments: [String]) throws {
    let run = try ProgramRun(arguments)
    #expect(run.status == 64)
    #expect(run.output == "")
    #expect(run.errors.hasPrefix("Error: "))
  }

  @Test func `explains itself on standard output`() throws {
    let run = try ProgramRun(["--help"])
    #expect(run.status == 0)
    #expect(run.output.contains("EXAMPLES:\n  earthquakes\n"))
    #expect(run.errors == "")
  }

  @Test func `says why its map can't be written where links lead in a circle`() throws {
    let map = folder.path("map.svg")
    try FileManager.default.createSymbolicLink(atPath: map, withDestinationPath: map)
    let run = try ProgramRun(["--map", map, "--quiet"])
    #expect(run.status == 1)
    #expect(
      run.errors == """
        Error: not all steps succeeded.
          child “map”
            The file \(map) cannot be written: \(String(cString: strerror(ELOOP))).

        """
    )
  }

  @Test(arguments: RealFeed.allCases)
  func `counts as many events as a real feed has`(feed: RealFeed) throws {
    guard let data = try feed.data(for: "counting events of the program") else { return }
    let path = try folder.write(data, to: "feed.geojson")
    let run = try ProgramRun(["--file", path, "--database", database, "--format", "json"])
    #expect(try run.report()["eventCount"] as? Int == Feed.validate(data).count)
  }
}
