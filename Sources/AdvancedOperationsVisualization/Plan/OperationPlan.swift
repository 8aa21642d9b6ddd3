import AdvancedOperations
import CoreOperations

/// The durations and dependencies of pieces of work, as a model to calculate the effect of changes.
///
/// ```swift
/// var plan = recorder.timeline.plan
/// print(plan.schedule(workers: 4).duration)   // with four at a time
/// plan.durations[2] /= 2
/// print(plan.schedule(workers: 4).duration)   // and if the third were twice as fast
/// ```
///
/// Pieces of work are numbered from 0. A plan only calculates: it has no queue and no clock.
public struct OperationPlan: Sendable, Hashable {
  /// The duration of each piece of work; a negative duration counts as zero.
  ///
  /// A sum of durations that exceeds 2.9e11 years is reduced to that value.
  ///
  /// - Precondition: A change keeps the number of durations.
  public var durations: [Duration] {
    didSet {
      if durations.count == predecessors.count { return }
      trap(
        "An OperationPlan of \(predecessors.count) pieces of work was given \(durations.count) "
          + "durations. Create another plan for another number."
      )
    }
  }
  /// For each piece of work, the pieces that it waits for.
  public let predecessors: [[Int]]
  private let order: [Int]

  /// Creates a plan.
  ///
  /// - Parameters:
  ///   - durations: The duration of each piece of work.
  ///   - edges: Pairs of pieces: the second waits for the first.
  /// - Throws: `OperationCycleError` with the numbers, if pieces wait for each other in a cycle.
  /// - Precondition: The edges are between indices of `durations`.
  /// - Complexity: O(n + e), n the number of durations and e the number of edges.
  public init(
    durations: [Duration],
    edges: some Sequence<(from: Int, to: Int)> = []
  ) throws {
    var predecessors = [[Int]](repeating: [], count: durations.count)
    for (from, to) in edges {
      guard durations.indices.contains(from), durations.indices.contains(to) else {
        trap(
          "OperationPlan was given an edge from \(from) to \(to), and has \(durations.count) "
            + "durations. Number them from 0."
        )
      }
      predecessors[to].append(from)
    }
    let sorted = Self.sort(predecessors)
    if sorted.count < durations.count {
      throw OperationCycleError(path: Self.cycle(in: predecessors, without: sorted))
    }
    self.durations = durations
    self.predecessors = predecessors
    order = sorted
  }

  /// Creates a plan, and drops edges that would complete a cycle instead of throwing an error.
  init(durations: [Duration], predecessors: [[Int]]) {
    var predecessors = predecessors
    var sorted = Self.sort(predecessors)
    if sorted.count < durations.count {
      // Pieces in cycles or after them keep only the edges from other pieces.
      let done = Set(sorted)
      for index in durations.indices where !done.contains(index) {
        predecessors[index].removeAll { !done.contains($0) }
      }
      sorted = Self.sort(predecessors)
    }
    self.durations = durations
    self.predecessors = predecessors
    order = sorted
  }

  // MARK: Bounds

  /// The duration of all pieces one after the other.
  public var work: Duration { durations.reduce(.zero) { $0.saturatingAdding(max($1, .zero)) } }

  /// The chain of pieces that takes the most time, where each piece waits for the previous one.
  ///
  /// - Complexity: O(n + e).
  public var criticalPath: [Int] {
    let ends = earliestEnds
    guard var next = ends.indices.max(by: { ends[$0] < ends[$1] }) else { return [] }
    var path = [next]
    while let before = predecessors[next].max(by: { ends[$0] < ends[$1] }) {
      path.append(before)
      next = before
    }
    return path.reversed()
  }

  /// The duration of the critical path, which the plan takes even with any number of workers.
  ///
  /// - Complexity: O(n + e).
  public var criticalDuration: Duration { earliestEnds.max() ?? .zero }

  /// The time by which each piece could be longer without making the critical path longer.
  ///
  /// - Complexity: O(n + e).
  public var slack: [Duration] {
    let ends = earliestEnds
    let tails = tails
    let whole = ends.max() ?? .zero
    return ends.indices.map { index in
      // If a sum has reached its limit, no slack is left.
      let rest = whole.saturatingSubtracting(ends[index]).saturatingSubtracting(tails[index])
      return max(rest.saturatingAdding(max(durations[index], .zero)), .zero)
    }
  }

  /// The time at which each piece ends, with as many workers as pieces.
  private var earliestEnds: [Duration] {
    var ends = [Duration](repeating: .zero, count: durations.count)
    for index in order {
      let begin = predecessors[index].reduce(Duration.zero) { max($0, ends[$1]) }
      ends[index] = begin.saturatingAdding(max(durations[index], .zero))
    }
    return ends
  }

  /// The length of the longest path from the beginning of each piece to the end of the last piece.
  var tails: [Duration] {
    var tails = [Duration](repeating: .zero, count: durations.count)
    for index in order.reversed() {
      // Until here, the value is the longest path after the piece.
      tails[index] = tails[index].saturatingAdding(max(durations[index], .zero))
      for before in predecessors[index] { tails[before] = max(tails[before], tails[index]) }
    }
    return tails
  }

  // MARK: Sorting

  /// Sorts the pieces with Kahn's algorithm; pieces in a cycle, or after a cycle, are missing.
  private static func sort(_ predecessors: [[Int]]) -> [Int] {
    var open = predecessors.map(\.count)
    let successors = successors(of: predecessors)
    var order = open.indices.filter { open[$0] == 0 }
    var next = 0
    while next < order.count {
      for after in successors[order[next]] {
        open[after] -= 1
        if open[after] == 0 { order.append(after) }
      }
      next += 1
    }
    return order
  }

  static func successors(of predecessors: [[Int]]) -> [[Int]] {
    var successors = [[Int]](repeating: [], count: predecessors.count)
    for (index, before) in predecessors.enumerated() {
      for predecessor in before { successors[predecessor].append(index) }
    }
    return successors
  }

  /// Returns a cycle in the order of the work, which ends with its first number again.
  private static func cycle(in predecessors: [[Int]], without sorted: [Int]) -> [OperationLabel] {
    let done = Set(sorted)
    let start = predecessors.indices.first { !done.contains($0) }
    let cycle = start.flatMap { start in
      StrongComponents.firstCycle(from: start) { predecessors[$0].filter { !done.contains($0) } }
    }
    return (cycle ?? []).reversed().map { OperationLabel("\($0)") }
  }
}
