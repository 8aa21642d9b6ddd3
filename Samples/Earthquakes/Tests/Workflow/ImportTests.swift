import AdvancedOperations
import AdvancedOperationsTesting
import EarthquakeKit
import EarthquakeWorkflow
import Foundation
import SampleTestSupport
import Testing

@Suite struct `An import` {
  /// One event, in a feed that was generated at a second.
  private func feed(
    generated: Int,
    url: String = "https://example.org/a",
    mag: String = "1"
  )
    -> Data
  {
    FeedText.feed(
      [FeedText.feature(mag: mag, updated: "\(generated)000")],
      generated: "\(generated)000",
      url: url
    )
  }

  @Test func `stores and reports the catalogue that is shipped`() throws {
    let world = try ImportWorld()
    let workflow = world.run(ImportRequest(source: .shipped, database: world.database))
    #expect(workflow.succeeded == ["locate", "open", "validate", "parse", "store", "report"])
    #expect(try workflow.store.result?.get().inserted == workflow.report.result?.get().count)
    #expect(try EarthquakeDatabase(path: world.database.path).count() == 60)
  }

  @Test func `gives its report to code that runs it`() throws {
    let world = try ImportWorld()
    let workflow = ImportWorkflow(
      try world.request(TinyFeed.data),
      download: ImportWorld.noDownload
    )
    let environment = world.simulation.environment
    let report = try world.simulation.run {
      try await AdvancedOperationQueue(environment: environment).run(workflow.report)
    }
    #expect(report.count == 8)
  }

  @Test func `of the same feed again is nothing new, and reported all the same`() throws {
    let world = try ImportWorld()
    let request = try world.request(TinyFeed.data)
    let first = world.run(request)
    let second = world.run(request)
    #expect(second.operation.outcome?.isSuccess == true)
    #expect(
      second.skipReason
        == "nothing new: the database has “A feed” as of 2020-09-13T12:26:40Z already"
    )
    #expect(try second.report.result?.get() == first.report.result?.get())
  }

  @Test func `of the same feed again stores it when forced`() throws {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    world.run(request)
    request.storesAgain = true
    #expect(try world.run(request).store.result?.get() == StoreSummary(unchanged: 8))
  }

  @Test func `stores what was generated later, and skips what was generated earlier`() throws {
    let world = try ImportWorld()
    world.run(try world.request(feed(generated: 1_000)))
    let later = world.run(try world.request(feed(generated: 1_001, mag: "2")))
    #expect(try later.store.result?.get() == StoreSummary(updated: 1))
    let earlier = world.run(try world.request(feed(generated: 999, mag: "3")))
    #expect(earlier.skipReason?.contains("as of 1970-01-01T00:16:41Z") == true)
    #expect(try earlier.report.result?.get().strongest.map(\.magnitude) == [2])
  }

  @Test func `an import distinguishes feeds by their addresses`() throws {
    let world = try ImportWorld()
    world.run(try world.request(feed(generated: 1_000)))
    let other = world.run(try world.request(feed(generated: 900, url: "https://example.org/b")))
    #expect(try other.store.result?.get() == StoreSummary(unchanged: 1))
  }

  @Test func `keeps events without a place or a magnitude`() throws {
    let world = try ImportWorld()
    let features = [
      FeedText.feature(id: "\"a\"", mag: "null"), FeedText.feature(id: "\"b\"", geometry: "null"),
    ]
    let report = try world.run(try world.request(FeedText.feed(features))).report.result?.get()
    #expect(report?.count == 2)
    #expect(report?.unknownMagnitudes == 1)
    #expect(report?.depths.unknown == 1)
  }

  @Test func `of a feed without events reports that there are none`() throws {
    let world = try ImportWorld()
    let workflow = world.run(try world.request(FeedText.feed([])))
    #expect(workflow.operation.outcome?.isSuccess == true)
    #expect(try workflow.report.result?.get().count == 0)
  }

  @Test func `draws a map of all that the database holds`() throws {
    let world = try ImportWorld()
    var request = try world.request(TinyFeed.data)
    request.mapPath = world.path("map.svg")
    let workflow = world.run(request)
    #expect(try workflow.map?.result?.get() == request.mapPath)
    let svg = try #require(try world.files()["map.svg"])
    let content = SVGContent(String(decoding: svg, as: UTF8.self))
    #expect(content.isWellFormed)
    // One of the eight has no place.
    #expect(content.elements("circle", in: "events").count == 7)
    // The second time it replaces a map.
    #expect(world.run(request).operation.outcome?.isSuccess == true)
  }

  @Test func `an import reports the progress of storing, event by event`() throws {
    let world = try ImportWorld()
    let recorder = RecordingObserver()
    world.run(
      try world.request(TinyFeed.data),
      prepare: { $0.store.addObserver(recorder) }
    )
    let updates = recorder.events.compactMap { event in
      if case .progress(let update) = event { update } else { nil }
    }
    #expect(
      updates == (0...8).map { OperationProgress(completedUnitCount: $0, totalUnitCount: 8) }
    )
  }

  @Test(arguments: Effort.seeds(20))
  func `comes to the same in every order of steps`(seed: UInt64) throws {
    let world = try ImportWorld(seed: seed)
    #expect(world.run(try world.request(TinyFeed.data)).succeeded.count == 6)
    #expect(world.run(try world.request(TinyFeed.data)).skipReason != nil)
  }

  @Test func `of real feeds stores as many events as they have`() throws {
    guard let week = try RealFeed.allWeek2022.data(for: "importing a week"),
      let day = try RealFeed.allDay2014.data(for: "importing a day")
    else { return }
    let world = try ImportWorld()
    let (first, again) = (world.run(try world.request(week)), world.run(try world.request(week)))
    #expect(try first.store.result?.get() == StoreSummary(inserted: 1_880))
    #expect(try first.report.result?.get().count == 1_880)
    #expect(again.skipReason?.hasPrefix("nothing new") == true)
    let other = world.run(try world.request(day))
    #expect(try other.store.result?.get() == StoreSummary(inserted: 146))
    #expect(try other.report.result?.get().count == 2_026)
  }
}
