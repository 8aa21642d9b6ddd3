import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport

/// Random programs over all features at once, one after the other, for as long as it is told to.
///
/// The account of claims, a pool and the watchdog live for all of them; queues, clocks and
/// operations for one. What a seed makes is the same each time; how threads take turns isn't.
enum Soak {
  /// What a program may contain that can be left out, to find out what a failure needs:
  /// `OPERATIONS_SOAK_WITHOUT=prerequisiteCycles,rollbacks`.
  enum Feature: String, CaseIterable, Sendable {
    /// Groups are finished by others while they start.
    case finishedFromOutside
    /// Prerequisites of conditions that wait for their operation.
    case prerequisiteCycles
    /// Children that depend on operations outside of their group.
    case outwardChildren
    case rollbacks
    case scopes
    case rates
    /// Durations that no clock can add to its time.
    case longDurations
    /// Queues whose dispatch queue is set by two threads at once.
    case underlyingQueues
    /// Barriers among operations that may need what comes behind them.
    case barriers
    /// Bodies that wait for other operations.
    case bodyWaits
    case claims
    case groups
    case prerequisites
    case rounds
    case timeouts
  }

  static let features: Set<Feature> = {
    let without = Effort.text("OPERATIONS_SOAK_WITHOUT")?.split(separator: ",") ?? []
    return Set(Feature.allCases).subtracting(without.compactMap { Feature(rawValue: "\($0)") })
  }()

  struct Flaw: Error {}

  /// What all programs share.
  final class World: Sendable {
    let domain = ClaimDomain()
    let pool: ResourcePool
    let claims = [
      AdvancedStress.Exclusive(name: "a", limit: 1), AdvancedStress.Exclusive(name: "b", limit: 1),
      AdvancedStress.Exclusive(name: "c", limit: 2),
    ]

    init() { pool = ResourcePool("pool", capacity: 3, domain: domain) }
  }

  /// Which operations are still there.
  final class Ledger: Sendable {
    private struct Entry {
      weak let operation: Operation?
      let kind: String
    }

    private let entries = Locked<[Entry]>([])

    func note(_ operation: Operation) {
      let entry = Entry(operation: operation, kind: "\(type(of: operation))")
      entries.withLock { $0.append(entry) }
    }

    /// What is alive, in words.
    var alive: [String] {
      // Nothing is released under the lock: the last reference to an operation may be this one.
      let entries = entries.withLock { $0 }
      return entries.compactMap { $0.operation.map(\.debugDescription) }
    }

    var isEmpty: Bool {
      let entries = entries.withLock { $0 }
      return entries.allSatisfy { $0.operation == nil }
    }
  }

  /// Operations that would not end for centuries; they are cancelled when a program is to end.
  final class Endless: Sendable {
    private let state = Locked((operations: [Operation](), isEnding: false))

    func note(_ operation: Operation) {
      let isEnding = state.withLock { state in
        if !state.isEnding { state.operations.append(operation) }
        return state.isEnding
      }
      if isEnding { operation.cancel() }
    }

    func end() {
      let operations = state.withLock { state in
        state.isEnding = true
        defer { state.operations = [] }
        return state.operations
      }
      for operation in operations { operation.cancel() }
    }
  }
}
