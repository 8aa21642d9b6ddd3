import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import Testing

@Suite("An order whose program dies")
struct JournalRestartTests {
  private static let items = [
    Item(sku: "tea", name: "Tea", price: Money(450), stock: 10),
    Item(sku: "cup", name: "Cup", price: Money(1200), stock: 10),
  ]

  @Test func `a restarted order executes no recorded step again`() throws {
    let id = OrderID(rawValue: "1")
    let report = try exploreRestarts(randomSchedules: 1) { simulation, journal in
      let store = try JournalStore(journal, items: Self.items, draft: .teaAndCups, id: id)
      let desk = OrderDesk(
        store: store,
        payments: ScriptedProvider(),
        shipping: ScriptedCarrier(),
        environment: simulation.environment
      )
      // What is compared is how the order is when the program has nothing to do any more.
      let life = ResultOperation(name: "life") {
        try await desk.open()
        return try await desk.outcome(of: id, within: .seconds(3_600))?.state
      }
      AdvancedOperationQueue(environment: simulation.environment).addOperation(life)
      return life
    }
    #expect(report.restartCount > 30)
  }
}
