import ServiceSupport

/// An order of a customer who takes what comes: one to three items, few of each.
struct RandomDraft: Encodable, Sendable {
  struct Line: Encodable, Sendable {
    var sku: String
    var quantity: Int
  }

  var customer: String
  var cardToken: String
  var lines: [Line]

  /// - Precondition: There are items.
  init(_ skus: [String], _ generator: inout SeededGenerator) {
    let names = [
      "Ada Lovelace", "Alan Turing", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov",
    ]
    customer = names.randomElement(using: &generator) ?? names[0]
    // One card in fifty is declined.
    let isDeclined = Int.random(in: 0..<50, using: &generator) == 0
    cardToken = isDeclined ? "tok_declined" : "tok_visa"
    let count = Int.random(in: 1...min(3, skus.count), using: &generator)
    lines = skus.shuffled(using: &generator).prefix(count).map { sku in
      Line(sku: sku, quantity: Int.random(in: 1...2, using: &generator))
    }
  }
}
