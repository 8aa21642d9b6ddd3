#if DEBUG
import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport

/// A workflow with a bug that takes so many steps out of their usual order, its depth.
struct PlantedBug: Sendable, CustomStringConvertible {
  let description: String
  let depth: Int
  let run: @Sendable (SimulatedEnvironment) throws -> Void

  struct Seen: Error {}

  /// Adds an operation whose body takes these steps, each as a step of its own, between some that
  /// do nothing.
  private static func add(
    _ name: String,
    to queue: OperationQueue,
    idle: Int,
    _ steps: [@Sendable () -> Void]
  ) {
    queue.addOperation(
      ResultOperation(name: name) {
        for _ in 0..<idle { await Task.yield() }
        for step in steps {
          step()
          await Task.yield()
        }
        for _ in 0..<idle { await Task.yield() }
      }
    )
  }

  /// What the bodies of a workflow share.
  private final class Table: Sendable {
    private let state = Locked((value: 0, old: 0, isSeen: false))
    var isSeen: Bool { state.withLock { $0.isSeen } }

    /// Does something in one step; the bug is seen when that says so.
    func step(
      _ body: @escaping @Sendable (inout (value: Int, old: Int, isSeen: Bool)) -> Bool
    )
      -> @Sendable () -> Void
    {
      { self.state.withLock { if body(&$0) { $0.isSeen = true } } }
    }
  }

  private static func bug(
    _ description: String,
    depth: Int,
    _ build: @escaping @Sendable (OperationQueue, Table) -> Void
  ) -> PlantedBug {
    PlantedBug(description: description, depth: depth) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let table = Table()
      build(queue, table)
      for name in ["bystander", "other bystander"] { add(name, to: queue, idle: 6, []) }
      simulation.run()
      if table.isSeen { throw Seen() }
    }
  }

  /// Each takes the fork on its left and then that on its right: seen when all have taken one.
  private static func philosophers(_ count: Int) -> PlantedBug {
    bug("\(count) philosophers", depth: count) { queue, table in
      for number in 0..<count {
        let takeLeft = table.step {
          $0.value += 1
          return $0.value == count
        }
        let takeRight = table.step {
          $0.value -= 1
          return false
        }
        add("philosopher \(number)", to: queue, idle: 4, [takeLeft, takeRight])
      }
    }
  }

  static let all: [PlantedBug] = [
    bug("set up too late", depth: 1) { queue, table in
      let setUp = table.step {
        $0.value = 1
        return false
      }
      add("set up", to: queue, idle: 0, [setUp])
      add("use", to: queue, idle: 8, [table.step { $0.value == 0 }])
    },
    bug("a lost update", depth: 2) { queue, table in
      let read = table.step {
        $0.old = $0.value
        return false
      }
      add("slow", to: queue, idle: 6, [read, table.step { $0.value != $0.old }])
      let write = table.step {
        $0.value += 1
        return false
      }
      add("quick", to: queue, idle: 6, [write])
    },
    philosophers(2), philosophers(3),
  ]

  /// How many schedules that are drawn in one way show it.
  func count(_ drawing: ScheduleDrawing?, among count: Int, seed: UInt64 = 1) throws -> Int {
    try countFailures(
      drawing: drawing,
      among: count,
      seed: seed,
      of: run
    )
  }
}
#endif
