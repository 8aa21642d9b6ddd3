import AdvancedOperations
import EarthquakeKit
import EarthquakeWorkflow
import Foundation
import Testing

@testable import earthquakes

@Suite struct `The summary of a run` {
  @Test func `says how many events were stored`() throws {
    let world = try ImportWorld()
    let summary = Summary(world.run(try world.request(TinyFeed.data)))
    #expect(summary.status == 0)
    #expect(summary.notices == ["Stored 8 new events, replaced 0, left 0 as they were."])
    #expect(summary.complaint == nil)
  }

  @Test func `says how many events the feed calls deleted`() throws {
    let world = try ImportWorld()
    let features = [
      FeedText.feature(id: "\"a\""), FeedText.feature(id: "\"b\"", status: "\"deleted\""),
    ]
    let workflow = world.run(try world.request(FeedText.feed(features)))
    #expect(
      Summary(workflow).notices == [
        "Stored 1 new event, replaced 0, left 0 as they were, hid 1 that the feed calls deleted."
      ]
    )
    #expect(try workflow.report.result?.get().deletedCount == 1)
  }

  @Test func `a summary says that nothing is new, which isn't a failure`() throws {
    let world = try ImportWorld()
    let request = try world.request(TinyFeed.data)
    world.run(request)
    let summary = Summary(world.run(request))
    #expect(summary.status == 0)
    #expect(summary.notices.count == 1)
    #expect(summary.notices.first?.hasPrefix("Not stored, nothing new: ") == true)
    #expect(summary.notices.first?.hasSuffix(" --force stores it all the same.") == true)
  }

  @Test func `says where the map is`() throws {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    request.mapPath = world.path("map.svg")
    #expect(Summary(world.run(request)).notices.last == "Drew the map \(world.path("map.svg")).")
  }

  @Test func `of a failure has the tree, and the status 1`() throws {
    let world = try ImportWorld()
    let path = world.path("none")
    let request = ImportRequest(source: .file(path: path), database: world.database)
    let summary = Summary(world.run(request))
    #expect(summary.status == 1)
    #expect(summary.notices.isEmpty)
    #expect(
      summary.complaint == """
        Error: not all steps succeeded.
          child “open”
            condition “file exists”: There is no file at \(path).
          3 others did not run
        """
    )
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func `of an interruption has the status that shells give`(signal: Int32, status: Int32) throws {
    let world = try ImportWorld()
    let workflow = world.run(
      try world.request(TinyFeed.data),
      prepare: { workflow in
        let operation = workflow.operation
        workflow.store.onStart { _ in operation.cancel(withError: Interruption(signal: signal)) }
      }
    )
    let summary = Summary(workflow)
    #expect(summary.status == status)
    #expect(summary.complaint?.hasPrefix("Cancelled: the database is as it was.\n") == true)
  }

  @Test func `of an interruption after storing doesn't say that nothing was stored`() throws {
    let world = try ImportWorld()
    let workflow = world.run(
      try world.request(TinyFeed.data),
      prepare: { workflow in
        let operation = workflow.operation
        workflow.report.onStart { _ in operation.cancel(withError: Interruption(signal: SIGINT)) }
      }
    )
    #expect(
      Summary(workflow).complaint?.hasPrefix("Cancelled: the database has the feed already.")
        == true
    )
  }

  @Test func `of an interruption while SQLite commits says that the feed was stored`() throws {
    let world = try ImportWorld()
    let workflow = world.run(
      try world.request(TinyFeed.data),
      prepare: { workflow in
        let operation = workflow.operation
        workflow.store.addObserver(
          BlockObserver(didUpdateProgress: { _, progress in
            if progress.completedUnitCount == 8 {
              operation.cancel(withError: Interruption(signal: SIGINT))
            }
          })
        )
      }
    )
    let summary = Summary(workflow)
    #expect(summary.notices == ["Stored 8 new events, replaced 0, left 0 as they were."])
    #expect(
      summary.complaint
        == "Cancelled: the database has the feed already.\n  cancelled: Interrupted (SIGINT)."
    )
    #expect(try EarthquakeDatabase(path: world.database.path).count() == 8)
  }
}
