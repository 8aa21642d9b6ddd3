import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import CoreOperations
import Foundation
import Testing

@Test func `Timelines: where the time went, and what would be faster`() throws {
  let print = Lines()

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  queue.maxConcurrentOperationCount = 2
  let recorder = TimelineRecorder()
  queue.addObserver(recorder)

  func work(_ name: String, seconds: Int) -> ResultOperation<Void> {
    ResultOperation(name: name) { try await clock.sleep(for: .seconds(seconds)) }
  }
  let pages = work("pages", seconds: 2)
  let fonts = work("fonts", seconds: 2)
  let images = work("images", seconds: 6)
  let thumbnails = work("thumbnails", seconds: 3)
  let site = work("site", seconds: 1)
  thumbnails.addDependency(images)
  for part in [pages, fonts, thumbnails] { site.addDependency(part) }

  queue.addOperations([pages, fonts, images, thumbnails, site])
  simulation.run()

  let timeline = recorder.timeline
  let critical = timeline.criticalPath.map { timeline.spans[$0].name }
  print("took:", timeline.duration)
  print("critical path:", critical.joined(separator: ", "))
  for (span, slack) in zip(timeline.spans, timeline.slack) where slack > .zero {
    print("\(span.name) may take \(slack) longer")
  }

  var plan = timeline.plan
  print("2 workers:", plan.schedule(workers: 2).duration)
  print("2 workers, longest path first:", plan.schedule(workers: 2, order: .longestPath).duration)
  print("any number of workers:", plan.criticalDuration)
  for (index, span) in timeline.spans.enumerated() where span.name == "images" {
    plan.durations[index] = .seconds(2)
  }
  print("images in 2 s, any number of workers:", plan.criticalDuration)

  try expectShown(print, in: "TimelinesAndWhatIf", of: "AdvancedOperationsVisualization")
  try expectPicture(
    recorder.timeline.svg(),
    "website-timeline",
    of: "AdvancedOperationsVisualization"
  )

  let folder = FileManager.default.temporaryDirectory
  let file = folder.appending(path: "timeline-\(UUID()).svg").path
  defer { try? FileManager.default.removeItem(atPath: file) }
  try recorder.timeline.svg().write(toFile: file, atomically: true, encoding: .utf8)
  #expect(try String(contentsOfFile: file, encoding: .utf8) == recorder.timeline.svg())
}

@Test func `Timelines: a plan of numbers alone`() throws {
  let plan = try OperationPlan(
    durations: [.seconds(3), .seconds(2), .seconds(4)],
    edges: [(from: 0, to: 2), (from: 1, to: 2)]
  )
  #expect(plan.criticalPath == [0, 2])
  #expect(plan.schedule(workers: 1).duration == .seconds(9))
  #expect(plan.schedule(workers: 2).duration == .seconds(7))
}

@Test func `Graphs: an order whose payment fails`() async throws {
  struct CardExpired: Error {}
  let queue = AdvancedOperationQueue()

  let validate = ResultOperation(name: "validate") {}
  let reserve = validate.then(name: "reserve goods") {}
  let charge = validate.then(name: "charge") { throw CardExpired() }
  let ship = ResultOperation(name: "ship") {}
  ship.addDependency(reserve)
  ship.addDependency(charge)
  ship.addCondition(NoFailedDependencies())
  let order = GroupOperation(name: "order 17") {
    validate
    reserve
    charge
    ship
  }
  let report = ResultOperation(name: "report") {}
  report.addDependency(order)

  queue.addOperations([order, report])
  try await queue.untilAllOperationsAreFinished()

  let folder = FileManager.default.temporaryDirectory
  let file = folder.appending(path: "graph-\(UUID()).svg").path
  defer { try? FileManager.default.removeItem(atPath: file) }
  let graph = OperationGraph(of: [order, report])
  try graph.svg().write(toFile: file, atomically: true, encoding: .utf8)
  try expectPicture(graph.svg(), "order-graph", of: "AdvancedOperationsVisualization")
}
