import Dispatch
import Synchronization

/// A `DispatchQueue` and a group; with a limit of 1, a serial queue.
///
/// Dispatch has no dependencies. Graphs run as people write them by hand: a counter for each task,
/// and whoever counts one down to zero submits that task.
struct DispatchContestant: Contestant {
  let name = ContestantName.dispatch.title

  func objection(to job: Job) -> String? {
    job.limit.map { $0 > 1 } == true ? "queues are serial or without a limit" : nil
  }

  func run(_ job: Job, clock: inout PhaseClock) {
    let queue = DispatchQueue(
      label: "benchmark",
      attributes: job.limit == 1 ? [] : .concurrent
    )
    let group = DispatchGroup()
    if job.graph.edgeCount == 0 {
      for node in 0..<job.graph.count {
        queue.async(group: group, execute: job.body.block(node))
      }
      group.wait()
    } else {
      let countdown = Countdown(job, queue: queue, group: group)
      clock.markBuilt()
      countdown.run()
      withExtendedLifetime(countdown) { clock.markRan() }
    }
  }
}

/// A graph on a queue: each task counts down those after it.
private final class Countdown: Sendable {
  private let job: Job
  private let queue: DispatchQueue
  private let group: DispatchGroup
  private let offsets: [Int32]
  private let successors: [Int32]
  /// Written before the run begins; afterwards only the atomics in it change.
  nonisolated(unsafe) private let pending: UnsafeMutablePointer<Atomic<Int32>>

  init(_ job: Job, queue: DispatchQueue, group: DispatchGroup) {
    self.job = job
    self.queue = queue
    self.group = group
    (offsets, successors) = job.graph.successors()
    pending = .allocate(capacity: job.graph.count)
    for node in 0..<job.graph.count {
      (pending + node).initialize(to: Atomic(Int32(job.graph.predecessors(of: node).count)))
    }
  }

  deinit {
    pending.deinitialize(count: job.graph.count)
    pending.deallocate()
  }

  func run() {
    for node in 0..<job.graph.count where job.graph.predecessors(of: node).isEmpty {
      submit(node)
    }
    group.wait()
  }

  private func submit(_ node: Int) {
    let body = job.body.block(node)
    queue.async(group: group) {
      body()
      for edge in self.offsets[node]..<self.offsets[node + 1] {
        let successor = Int(self.successors[Int(edge)])
        let left = self.pending[successor].subtract(1, ordering: .acquiringAndReleasing)
        if left.newValue == 0 { self.submit(successor) }
      }
    }
  }
}
