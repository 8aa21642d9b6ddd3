import OrderWorkflow
import Testing

@Suite("A draft")
struct OrderDraftTests {
  @Test func `all mistakes of a draft are named in one batch`() {
    let draft = OrderDraft(
      customer: " ",
      cardToken: "",
      lines: [
        OrderLine(sku: "tea", quantity: 0),
        OrderLine(sku: "", quantity: 1),
        OrderLine(sku: "tea", quantity: 1_001),
      ]
    )
    #expect(
      draft.problems.map(\.field) == [
        "customer", "cardToken", "lines[0].quantity", "lines[1].sku", "lines[2].quantity",
        "lines[2].sku",
      ]
    )
  }

  @Test func `without lines is a mistake`() {
    let draft = OrderDraft(customer: "Ada", cardToken: "card", lines: [])
    #expect(draft.problems == [.missing(field: "lines")])
  }
}
