import Foundation

/// A real workflow, each of its runtimes divided by the same number.
struct RealWorkload: Workload {
  /// What could at best be reached: the longer of critical path and evenly spread work, on one
  /// thread and without any queue.
  static let bound = "lower bound"

  let instance: WorkflowInstance
  let processors: Int
  /// The work in a run after scaling, in seconds of one processor.
  let work: Double

  var name: String { "wf-\(instance.name)" }
  var title: String {
    "a real workflow, \(instance.graph.edgeCount) edges, runtimes divided by "
      + "\(Int((instance.work / work).rounded())), per run"
  }
  var ownSizes: [Int]? { [instance.graph.count] }

  func lanes(size: Int, contestants: [any Contestant]) -> [Lane] {
    let stepsPerSecond = Double(Kernel.steps(lasting: 0.01)) / 0.01
    let scale = work / instance.work * stepsPerSecond
    let steps = instance.runtimes.map { Int32(min(Double(Int32.max), $0 * scale)) }
    let job = Job(graph: instance.graph, body: .spinEach(steps))
    var lanes = contestants.map { contestant in
      var lane = Lane(contestant.name, operations: 1, expectedRuns: size) { clock in
        contestant.run(job, clock: &clock)
      }
      lane.objection = contestant.objection(to: job)
      lane.isDrawn = false
      return lane
    }
    let ideal = max(instance.criticalPath, instance.work / Double(processors)) * scale
    var bound = Lane(Self.bound, operations: 1, expectedRuns: 0) { _ in Kernel.spin(Int(ideal)) }
    bound.isDrawn = false
    lanes.insert(bound, at: min(1, lanes.count))
    return lanes
  }
}
