/// Empty tasks in a graph that is made for a size.
struct GraphWorkload: Workload {
  /// What the lane is called in which ours runs as many operations, added as one batch, without
  /// edges: what a graph costs per edge is compared with it.
  static let withoutEdges = "ours, no edges"

  let name: String
  let title: String
  var handover = Job.Handover.batch
  var limit: Int?
  var body = TaskBody.count
  let graph: @Sendable (Int) -> TaskGraph
  var usualSizes: ClosedRange<Int> { 1...Int.max }
  var weight: Double { 3 }

  func lanes(size: Int, contestants: [any Contestant]) -> [Lane] {
    let job = Job(graph: graph(size), handover: handover, limit: limit, body: body)
    var lanes = contestants.map { Lane($0, job) }
    if job.graph.edgeCount > 0, let ours = contestants.first as? OurQueue {
      let base = Job(graph: .independent(job.graph.count))
      var lane = Lane(Self.withoutEdges, operations: base.graph.count) { clock in
        ours.run(base, clock: &clock)
      }
      lane.isDrawn = false
      lanes.insert(lane, at: 1)
    }
    return lanes
  }

  func verify(size: Int, contestants: [any Contestant]) throws {
    for contestant in contestants {
      var job = Job(graph: graph(size), handover: handover, limit: limit)
      let check = OrderCheck(job.graph)
      job.body = .check(check)
      guard contestant.objection(to: job) == nil else { continue }
      var clock = PhaseClock()
      contestant.run(job, clock: &clock)
      guard check.violationCount == 0 else {
        throw WrongResult(
          description: "\(name), \(contestant.name), \(job.graph.count) tasks: "
            + "\(check.violationCount) times, one ran before what it waits for, or again"
        )
      }
    }
  }
}

extension GraphWorkload {
  static let all = [
    GraphWorkload(
      name: "independent",
      title: "empty operations, added one by one",
      handover: .oneByOne
    ) { .independent($0) },
    GraphWorkload(name: "closures", title: "empty closures", handover: .closures) {
      .independent($0)
    },
    GraphWorkload(
      name: "closures-captured",
      title: "closures that capture a word",
      handover: .closures,
      body: .countNode
    ) { .independent($0) },
    GraphWorkload(
      name: "closures-limit-1",
      title: "empty closures, one at a time",
      handover: .closures,
      limit: 1
    ) { .independent($0) },
    GraphWorkload(name: "batch", title: "empty operations, added as one batch") {
      .independent($0)
    },
    GraphWorkload(
      name: "limit-1",
      title: "empty operations, one at a time",
      handover: .oneByOne,
      limit: 1
    ) { .independent($0) },
    GraphWorkload(name: "chain", title: "each waits for the one before") { .chain($0) },
    GraphWorkload(name: "fan", title: "all wait for one, and one for all") { .fan($0) },
    GraphWorkload(name: "tree", title: "two wait for each") { .binaryTree($0) },
    GraphWorkload(name: "wavefront", title: "a square, each waits for above and left") {
      .wavefront($0)
    },
    GraphWorkload(name: "layered", title: "random layers of 64, 1 to 4 edges each") {
      .layered($0, seed: 42)
    },
  ]
}
