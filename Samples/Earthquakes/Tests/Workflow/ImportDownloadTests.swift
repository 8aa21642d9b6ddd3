import AdvancedOperations
import AdvancedOperationsTesting
import EarthquakeKit
import EarthquakeWorkflow
import Foundation
import Synchronization
import Testing

@Suite struct `An import that downloads` {
  private static let address =
    "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_day.geojson"

  private func offline(_ url: URL) -> DownloadError {
    .noConnection(url: url, reason: "The network is unreachable.")
  }

  @Test func `asks for the feed of the name, with a share of the time and the largest size`() throws
  {
    let world = try ImportWorld()
    let asked = Mutex<[String]>([])
    let workflow = world.run(world.request(feed: "all_day")) { url, timeout, maximum in
      asked.withLock { $0.append("\(url) \(timeout) \(maximum)") }
      return TinyFeed.data
    }
    #expect(workflow.succeeded == ["locate", "download", "validate", "parse", "store", "report"])
    #expect(asked.withLock { $0 } == ["\(Self.address) 20.0 seconds 50000000"])
  }

  @Test func `a download is retried after one second, then after two`() throws {
    let world = try ImportWorld()
    let times = Mutex<[Duration]>([])
    let simulation = world.simulation
    let workflow = world.run(world.request(feed: "all_day")) { url, _, _ in
      let count = times.withLock { times in
        times.append(simulation.now)
        return times.count
      }
      if count < 3 { throw offline(url) }
      return TinyFeed.data
    }
    #expect(workflow.operation.outcome?.isSuccess == true)
    #expect(times.withLock { $0 } == [.zero, .seconds(1), .seconds(3)])
  }

  @Test func `a download fails after the third attempt, and reports all attempts`() throws {
    let world = try ImportWorld()
    let workflow = world.run(world.request(feed: "all_day")) { url, _, _ in throw offline(url) }
    #expect(world.simulation.now == .seconds(3))
    let lines = workflow.tree.split(separator: "\n").map(String.init)
    #expect(lines.first == "child “download”")
    for attempt in 1...3 {
      #expect(
        lines[attempt].hasPrefix("  attempt \(attempt): There is no connection to \(Self.address)")
      )
    }
    #expect(lines.last == "3 others did not run")
    #expect(try world.files().isEmpty)
  }

  @Test func `gives up when the time is over`() throws {
    let world = try ImportWorld()
    let clock = world.simulation.environment.clock
    let workflow = world.run(world.request(feed: "all_day")) { _, _, _ in
      try await clock.sleep(until: .seconds(86_400))
      return TinyFeed.data
    }
    #expect(world.simulation.now == .seconds(60))
    #expect(
      workflow.tree.hasPrefix(
        "child “download”\n  timed out: The time limit of 1 min was exceeded."
      )
    )
    guard case .failed = workflow.operation.outcome else {
      Issue.record("\(String(describing: workflow.operation.outcome))")
      return
    }
    #expect(try world.files().isEmpty)
  }

  @Test func `a download is retried if an attempt gets no answer`() throws {
    let world = try ImportWorld()
    let clock = world.simulation.environment.clock
    let attempts = Mutex(0)
    let workflow = world.run(world.request(feed: "all_day")) { url, timeout, _ in
      let attempt = attempts.withLock { attempts in
        attempts += 1
        return attempts
      }
      if attempt == 1 {
        try await clock.sleep(until: clock.now + timeout)
        throw DownloadError.timedOut(url: url, after: timeout)
      }
      return TinyFeed.data
    }
    #expect(workflow.operation.outcome?.isSuccess == true)
    #expect(world.simulation.now == .seconds(21))
  }

  @Test(arguments: [
    (404, 1), (403, 1), (302, 1), (408, 3), (429, 3), (500, 3), (503, 3),
  ])
  func `tries again only after an answer that may change`(code: Int, attempts: Int) throws {
    let world = try ImportWorld()
    let asked = Mutex(0)
    world.run(world.request(feed: "all_day")) { url, _, _ in
      asked.withLock { $0 += 1 }
      throw DownloadError.status(url: url, code: code)
    }
    #expect(asked.withLock { $0 } == attempts)
  }

  @Test func `a download isn't retried if it is too large, or can't be kept`() throws {
    for isTooLarge in [true, false] {
      let world = try ImportWorld()
      let workflow = world.run(world.request(feed: "all_day")) { url, _, maximum in
        throw isTooLarge
          ? DownloadError.tooLarge(url: url, maximum: maximum)
          : DownloadError.cannotKeep(url: url, reason: "No space left on device")
      }
      let problem = isTooLarge ? "has more than 50,000,000 bytes" : "cannot be kept"
      #expect(workflow.tree.hasPrefix("child “download”\n  attempt 1: \(Self.address) \(problem)"))
      #expect(world.simulation.now == .zero)
    }
  }

  @Test func `that is broken names the feed`() throws {
    let world = try ImportWorld()
    let workflow = world.run(world.request(feed: "all_day")) { _, _, _ in Data("{]".utf8) }
    #expect(
      workflow.tree.hasPrefix(
        "child “validate”\n  all_day.geojson: The feed is broken JSON: in line 1, column 2"
      )
    )
  }

  @Test func `of an unknown name downloads nothing`() throws {
    let world = try ImportWorld()
    let workflow = world.run(world.request(feed: "all_days"))
    #expect(
      workflow.tree.hasPrefix(
        "child “locate”\n  There is no feed named “all_days”. Did you mean “all_day”?"
      )
    )
    #expect(workflow.tree.hasSuffix("\n4 others did not run"))
  }

  @Test func `skips what it downloaded when there is nothing new in it`() throws {
    let world = try ImportWorld()
    try world.store(TinyFeed.data)
    let workflow = world.run(world.request(feed: "all_day")) { _, _, _ in TinyFeed.data }
    #expect(workflow.skipReason != nil)
    #expect(try workflow.report.result?.get().count == 8)
  }
}
