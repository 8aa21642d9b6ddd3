import CoreOperations
import TestSupport
import Testing

/// Random programs come to the same with closures as with block operations.
@Suite(.watched, .heavy) struct `Closures and block operations` {
  private static let seeds = Effort.seeds(300)

  @Test func `closures and block operations behave the same in every step`() {
    var (longest, cancelled) = (0, 0)
    for seed in Self.seeds {
      let program = ClosureProgram(seed: seed, .stepped)
      let (closures, operations) = (program.stepped(.closures), program.stepped(.operations))
      #expect(closures == operations, "seed \(seed)")
      longest = max(longest, operations.count)
      cancelled += operations.count { $0.contains("wc") || $0.contains("ec") }
    }
    // They aren't the same because little happens.
    #expect(longest > (Effort.isOrdinary ? 40 : 60))
    #expect(cancelled > (Effort.isOrdinary ? 0 : 50))
  }

  @Test func `closures and block operations run in the same order in serial queues`() async throws {
    for seed in Self.seeds {
      let program = ClosureProgram(seed: seed, .oneAtATime)
      let closures = try await program.threaded(.closures)
      let operations = try await program.threaded(.operations)
      #expect(closures == operations, "seed \(seed)")
    }
  }

  @Test(arguments: [2, 3, -1])
  func `closures and block operations run the same between barriers on threads`(
    limit: Int
  ) async throws {
    for seed in Self.seeds {
      let program = ClosureProgram(seed: seed, .together)
      let closures = try await program.threaded(.closures, limit: limit)
      let operations = try await program.threaded(.operations, limit: limit)
      #expect(parts(of: closures) == parts(of: operations), "seed \(seed)")
    }
  }

  /// What ran between one barrier and the next, in no order.
  private func parts(of entries: [String]) -> [[String]] {
    var parts: [[String]] = [[]]
    for entry in entries {
      parts[parts.count - 1].append(entry)
      if entry.hasPrefix("barrier") { parts.append([]) }
    }
    return parts.map { $0.sorted() }
  }
}
