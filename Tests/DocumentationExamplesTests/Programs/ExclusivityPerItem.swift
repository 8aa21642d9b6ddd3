import AdvancedOperations
import AdvancedOperationsTesting
import Synchronization
import Testing

/// Edits of documents: those of one document one after the other, those of others meanwhile.
///
/// The name of the claim says which document it is about.
@Suite struct `A program that edits each item by one operation at a time` {
  final class Editors: Sendable {
    struct State {
      var open: [String] = []
      var mostPerItem = 0
      var mostOfAll = 0
      var order: [String] = []
    }

    private let state = Mutex(State())

    var seen: State { state.withLock { $0 } }

    func open(_ items: [String], by name: String) {
      state.withLock { state in
        state.order.append(name)
        state.open += items
        state.mostOfAll = max(state.mostOfAll, state.open.count)
        for item in items {
          state.mostPerItem = max(state.mostPerItem, state.open.count { $0 == item })
        }
      }
    }

    func close(_ items: [String]) {
      state.withLock { state in
        for item in items {
          if let index = state.open.firstIndex(of: item) { state.open.remove(at: index) }
        }
      }
    }
  }

  /// Both items, or none of them.
  struct Move: OperationClaim {
    let items: [String]

    var name: String { "move" }
    var requests: [ClaimRequest] { items.flatMap { MutuallyExclusive("item \($0)").requests } }
  }

  static func edit(
    _ items: String...,
    name: String,
    with editors: Editors
  ) -> ResultOperation<Void> {
    ResultOperation(name: name) {
      editors.open(items, by: name)
      defer { editors.close(items) }
      try await OperationClock.current.sleep(for: .seconds(1))
    }
  }

  @Test func `edits of one item take turns in the order in which they came`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = 10
    let editors = Editors()
    for (item, number) in [("a", 1), ("a", 2), ("b", 1), ("a", 3), ("c", 1)] {
      let edit = Self.edit(item, name: "\(item)\(number)", with: editors)
      edit.addClaim(MutuallyExclusive("item \(item)"))
      queue.addOperation(edit)
      simulation.run(until: simulation.now)
    }
    simulation.run()
    #expect(editors.seen.mostPerItem == 1)
    #expect(editors.seen.mostOfAll == 3)
    #expect(editors.seen.order.filter { $0.hasPrefix("a") } == ["a1", "a2", "a3"])
    #expect(simulation.now == .seconds(3))
  }

  @Test func `the queue does not matter`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let editors = Editors()
    let queues = (1...3).map { _ in AdvancedOperationQueue(environment: simulation.environment) }
    for (number, queue) in queues.enumerated() {
      let edit = Self.edit("a", name: "a\(number)", with: editors)
      edit.addClaim(MutuallyExclusive("item a"))
      queue.addOperation(edit)
    }
    simulation.run()
    #expect(editors.seen.mostPerItem == 1)
    #expect(simulation.now == .seconds(3))
  }

  @Test func `moves between two items don't wait for each other for ever, in any order`() throws {
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.maxConcurrentOperationCount = 2
      let editors = Editors()
      let there = Self.edit("a", "b", name: "there", with: editors)
      there.addClaim(Move(items: ["a", "b"]))
      let back = Self.edit("b", "a", name: "back", with: editors)
      back.addClaim(Move(items: ["b", "a"]))
      queue.addOperations([there, back])
      simulation.run()
      try expectOutcome(of: there, is: .succeeded)
      try expectOutcome(of: back, is: .succeeded)
      try #require(editors.seen.mostPerItem == 1)
      try #require(simulation.now == .seconds(2))
    }
    #expect(report.isComplete)
  }

  @Test func `one who doesn't want to wait is told who is editing`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = 10
    let editor = HeldOperation(name: "editor")
    editor.addClaim(MutuallyExclusive("item a"))
    queue.addOperation(editor)
    try simulation.run(until: { editor.isHeld })

    let impatient = AdvancedOperation(name: "impatient")
    impatient.addClaim(MutuallyExclusive("item a", whenBusy: .fail))
    let elsewhere = AdvancedOperation(name: "elsewhere")
    elsewhere.addClaim(MutuallyExclusive("item b", whenBusy: .fail))
    let needless = AdvancedOperation(name: "needless")
    needless.addClaim(MutuallyExclusive("item a", whenBusy: .skip))
    queue.addOperations([impatient, elsewhere, needless])
    simulation.run()
    try expectConditionFailure(of: impatient, is: OperationClaimError.busy(holders: ["editor"]))
    try expectOutcome(of: elsewhere, is: .succeeded)
    try expectOutcome(of: needless, is: .skipped)
    #expect(editor.isHeld)
  }
}
