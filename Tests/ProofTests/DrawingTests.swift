#if DEBUG
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite struct `Schedules that are drawn` {
  private static let drawings: [(name: String, drawing: ScheduleDrawing?)] = [
    ("any step", .steps),
    ("1 change", .priorities(changes: 1, mostRounds: 32)),
    ("2 changes", .priorities(changes: 2, mostRounds: 32)),
    ("3 changes", .priorities(changes: 3, mostRounds: 32)),
    ("1 change, yielding", .priorities(changes: 1, mostRounds: 0)),
    ("2 changes, yielding", .priorities(changes: 2, mostRounds: 0)),
    ("3 changes, yielding", .priorities(changes: 3, mostRounds: 0)),
    ("usual", nil),
  ]

  @Test(arguments: PlantedBug.all)
  func `random schedules show every planted bug`(bug: PlantedBug) async throws {
    let count = Effort.schedules(300, nightly: 1_000)
    let counts = try await offPool {
      try Self.drawings.map { try bug.count($0.drawing, among: count) }
    }
    let cells = zip(Self.drawings, counts).map { drawing, found in
      let share = Double(found * 1_000 / count) / 10
      return "\(drawing.name) \(share) %"
    }
    print("\(bug), depth \(bug.depth), of \(count): \(cells.joined(separator: ", "))")
    #expect(counts.last ?? 0 > 0)
  }
}
#endif
