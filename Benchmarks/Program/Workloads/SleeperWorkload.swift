import BenchmarkKit

/// Operations that block their threads, on a queue with its default limit.
struct SleeperWorkload: Workload {
  let name = "sleepers"
  let duration: Duration
  let ownSizes: [Int]?
  var title: String { "operations that each block for \(Quantity.time(duration.seconds)), per run" }

  func lanes(size: Int, contestants: [any Contestant]) -> [Lane] {
    let job = Job(
      graph: .independent(size),
      handover: .oneByOne,
      body: .sleep(duration)
    )
    return contestants.map { contestant in
      var lane = Lane(contestant.name, operations: 1, expectedRuns: size) { clock in
        contestant.run(job, clock: &clock)
      }
      lane.objection = contestant.objection(to: job)
      lane.isDrawn = false
      lane.isWarmedUp = false
      // Foundation runs about ten at once; Taskflow as many as there are processors.
      lane.expectedSeconds =
        switch contestant {
        case is FoundationQueue: duration.seconds * Double(size) / 5
        case is OurQueue: duration.seconds
        default: nil
        }
      return lane
    }
  }
}
