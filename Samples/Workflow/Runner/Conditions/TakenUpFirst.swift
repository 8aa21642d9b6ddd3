import AdvancedOperations
import Synchronization
import WorkflowDocument

/// Holds when what an earlier runner has left, and may go on, has got the claims that this step
/// would take from it.
///
/// What goes on uses them already, although this process hasn't taken it up yet.
struct TakenUpFirst: OperationCondition {
  let gate: TakeUpGate
  let index: Int

  var name: String { "resumed steps first" }

  func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    gate.isOpen(for: index) ? .satisfied : nil
  }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await gate.wait(index)
    return .satisfied
  }
}

/// Keeps steps waiting until others that claim the same have begun, or never will.
final class TakeUpGate: Sendable {
  private struct State {
    /// The steps that each step waits for.
    var open: [Int: Set<Int>] = [:]
    var waiting: [Int: [CheckedContinuation<Void, Never>]] = [:]
  }

  private let state = Mutex(State())

  /// Some steps were begun by an earlier runner and may go on.
  ///
  /// - Parameters:
  ///   - open: Their places.
  ///   - steps: All steps.
  func close(for open: Set<Int>, of steps: [Step]) {
    if open.isEmpty { return }
    let places = Dictionary(steps.enumerated().map { ($1.id, $0) }) { first, _ in first }
    var waits: [Int: Set<Int>] = [:]
    for first in open {
      let needed = Self.needs(of: first, steps, places)
      for (index, step) in steps.enumerated() where !open.contains(index) {
        // What it needs comes before it in any case.
        if needed.contains(index) || !step.sharesClaims(with: steps[first]) { continue }
        waits[index, default: []].insert(first)
      }
    }
    state.withLock { $0.open = waits }
  }

  /// A step has its claims, or has ended.
  func passes(_ first: Int) {
    let continuations = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      if state.open.isEmpty { return [] }
      var free: [CheckedContinuation<Void, Never>] = []
      for index in state.open.keys.sorted() {
        state.open[index]?.remove(first)
        guard state.open[index]?.isEmpty == true else { continue }
        state.open[index] = nil
        free += state.waiting.removeValue(forKey: index) ?? []
      }
      return free
    }
    for continuation in continuations { continuation.resume() }
  }

  func isOpen(for index: Int) -> Bool { state.withLock { $0.open[index] == nil } }

  func wait(_ index: Int) async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if state.open[index] == nil { return true }
        state.waiting[index, default: []].append(continuation)
        return false
      }
      if isOpen { continuation.resume() }
    }
  }

  private static func needs(_ index: Int, _ places: [String: Int], _ steps: [Step]) -> [Int] {
    steps[index].predecessors.compactMap { places[$0] }
  }

  /// All that a step needs, directly or not.
  private static func needs(
    of index: Int,
    _ steps: [Step],
    _ places: [String: Int]
  ) -> Set<Int> {
    var (seen, next): (Set<Int>, [Int]) = ([], needs(index, places, steps))
    while let need = next.popLast() {
      if seen.insert(need).inserted { next += needs(need, places, steps) }
    }
    return seen
  }
}

extension Step {
  /// Whether both hold something of the same while they run.
  fileprivate func sharesClaims(with other: Step) -> Bool {
    exclusive.contains { other.exclusive.contains($0) }
      || uses.keys.contains { other.uses[$0] != nil }
  }
}
