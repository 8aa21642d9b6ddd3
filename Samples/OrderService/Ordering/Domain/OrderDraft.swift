/// What a customer wants, before the shop has agreed to anything.
public struct OrderDraft: Hashable, Codable, Sendable {
  /// Who orders: a name or an address of mail.
  public var customer: String

  /// What the payment provider gave to the customer's browser in place of a card's number.
  public var cardToken: String

  /// What is ordered.
  public var lines: [OrderLine]

  /// Creates a draft.
  public init(customer: String, cardToken: String, lines: [OrderLine]) {
    self.customer = customer
    self.cardToken = cardToken
    self.lines = lines
  }

  /// How many lines an order may have.
  public static let maximumLines = 100

  /// How long the name of a customer and the token of a card may be, in bytes of UTF-8.
  public static let maximumLength = 200

  /// How many of an item one line may have.
  public static let maximumQuantity = 1_000

  /// All that is wrong with the draft in a shop that sells some items; empty if nothing is.
  ///
  /// Of lines that are too many, the first ones are looked at.
  public func problems(in shop: [Item]) -> [OrderProblem] {
    let known = Set(shop.map(\.sku))
    let unknown = lines.prefix(Self.maximumLines).enumerated().compactMap { index, line in
      line.sku.isEmpty || known.contains(line.sku)
        ? nil : OrderProblem.unknownItem(line: index, sku: line.sku)
    }
    return problems + unknown
  }

  /// All that is wrong with the draft in itself; empty if nothing is.
  ///
  /// Of lines that are too many, the first ones are looked at.
  public var problems: [OrderProblem] {
    var problems: [OrderProblem] = []
    if customer.allSatisfy(\.isWhitespace) { problems.append(.missing(field: "customer")) }
    if cardToken.allSatisfy(\.isWhitespace) { problems.append(.missing(field: "cardToken")) }
    for (field, text) in [("customer", customer), ("cardToken", cardToken)]
    where text.utf8.count > Self.maximumLength {
      let count = text.utf8.count
      problems.append(.tooLong(field: field, count: count, limit: Self.maximumLength))
    }
    for (field, text) in [("customer", customer), ("cardToken", cardToken)]
    where text.utf8.contains(0) {
      problems.append(.nullCharacter(field: field))
    }
    if lines.isEmpty { problems.append(.missing(field: "lines")) }
    if lines.count > Self.maximumLines {
      problems.append(.tooManyLines(count: lines.count, limit: Self.maximumLines))
    }
    var seen: Set<String> = []
    for (index, line) in lines.prefix(Self.maximumLines).enumerated() {
      if line.sku.isEmpty { problems.append(.missing(field: "lines[\(index)].sku")) }
      if !(1...Self.maximumQuantity).contains(line.quantity) {
        problems.append(.quantity(line: index, is: line.quantity, limit: Self.maximumQuantity))
      }
      if !seen.insert(line.sku).inserted {
        problems.append(.repeatedItem(line: index, sku: line.sku))
      }
    }
    return problems
  }
}
