import AdvancedOperations
import CoreOperations

/// The times at which workers would do the pieces of an ``OperationPlan``.
///
/// ```swift
/// let schedule = plan.schedule(workers: 2)
/// print(schedule.duration, schedule.starts, schedule.workers)
/// ```
public struct OperationSchedule: Sendable, Hashable {
  /// The order in which workers take pieces that are ready.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Order: Sendable, CaseIterable {
    /// The piece with the lowest index, like a queue, which starts operations of one priority in
    /// the order of adding.
    case firstAdded
    /// The piece with the longest chain to the end, as with priorities; the schedule is usually
    /// shorter.
    case longestPath
  }

  /// The time at which each piece begins.
  public internal(set) var starts: [Duration]
  /// The number of the worker of each piece, from 0.
  public internal(set) var workers: [Int]
  /// The time at which the last piece ends.
  public internal(set) var duration: Duration
}

extension OperationPlan {
  /// Calculates a schedule in which no worker is idle while a piece is ready.
  ///
  /// This is list scheduling (R. Graham, “Bounds for certain multiprocessing anomalies”, Bell
  /// System Technical Journal 45, 1966): with m workers it takes at most 2 − 1/m times as long as
  /// the best schedule. More workers, or shorter work, can make the schedule longer: this is the
  /// anomaly in the title.
  ///
  /// - Parameters:
  ///   - workers: The number of workers.
  ///   - order: The order in which workers take pieces.
  /// - Returns: The schedule.
  /// - Precondition: At least one worker.
  /// - Complexity: O((n + e) log n), n the number of pieces and e the number of edges.
  public func schedule(
    workers: Int,
    order: OperationSchedule.Order = .firstAdded
  ) -> OperationSchedule {
    guard workers >= 1 else {
      trap("schedule(workers:) of an OperationPlan was called with \(workers). Pass 1 or more.")
    }
    var run = ScheduleRun(self, workers: min(workers, max(durations.count, 1)), order: order)
    return run.schedule()
  }
}

/// A simulated run of a plan.
private struct ScheduleRun {
  private let durations: [Duration]
  private let successors: [[Int]]
  /// The negative lengths of the longest chains, so that the longest chain is first; empty if the
  /// order ignores chains.
  private let keys: [Duration]
  private var open: [Int]
  private var ready = IndexedHeap<HeapEntry<Duration>>()
  private var idle = IndexedHeap<HeapEntry<Int>>()
  private var running = IndexedHeap<HeapEntry<Duration>>()

  init(_ plan: OperationPlan, workers: Int, order: OperationSchedule.Order) {
    durations = plan.durations.map { max($0, .zero) }
    successors = OperationPlan.successors(of: plan.predecessors)
    keys =
      switch order {
      case .firstAdded: []
      case .longestPath: plan.tails.map { .zero - $0 }
      }
    open = plan.predecessors.map(\.count)
    for worker in 0..<workers { idle.insert(HeapEntry(worker, key: worker)) }
  }

  private mutating func becameReady(_ piece: Int) {
    ready.insert(HeapEntry(piece, key: keys.isEmpty ? .zero : keys[piece], ticket: piece))
  }

  mutating func schedule() -> OperationSchedule {
    var schedule = OperationSchedule(
      starts: [Duration](repeating: .zero, count: durations.count),
      workers: [Int](repeating: 0, count: durations.count),
      duration: .zero
    )
    for piece in open.indices where open[piece] == 0 { becameReady(piece) }
    while true {
      while !idle.isEmpty, let piece = ready.popFirst()?.value, let worker = idle.popFirst()?.value
      {
        schedule.starts[piece] = schedule.duration
        schedule.workers[piece] = worker
        let end = schedule.duration.saturatingAdding(durations[piece])
        running.insert(HeapEntry(piece, key: end, ticket: piece))
      }
      guard let next = running.first else { return schedule }
      schedule.duration = next.key
      // All pieces that end at this time end before another piece begins.
      while running.first?.key == next.key, let piece = running.popFirst()?.value {
        idle.insert(HeapEntry(schedule.workers[piece], key: schedule.workers[piece]))
        for after in successors[piece] {
          open[after] -= 1
          if open[after] == 0 { becameReady(after) }
        }
      }
    }
  }
}
