import OrderWorkflow
import ServiceSupport

/// What the JSON of a request says about an order, and all that is wrong with it.
///
/// A field that can't be read is empty in the draft, so that all other mistakes are found as well.
struct DraftReading: Decodable {
  /// What was understood.
  private(set) var draft = OrderDraft(customer: "", cardToken: "", lines: [])
  /// What wasn't.
  private(set) var mistakes: [Mistake] = []

  private enum Field: String, CaseIterable {
    case customer, cardToken, lines
  }

  private enum LineField: String, CaseIterable {
    case sku, quantity
  }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: AnyKey.self)
    checkNames(fields.allKeys, Field.allCases.map(\.rawValue), in: "")
    draft.customer = text(Field.customer.rawValue, fields, path: "customer")
    draft.cardToken = text(Field.cardToken.rawValue, fields, path: "cardToken")
    let key = AnyKey(stringValue: Field.lines.rawValue)
    guard fields.contains(key) else { return }
    guard var lines = try? fields.nestedUnkeyedContainer(forKey: key) else {
      mistakes.append(Mistake(field: "lines", message: "“lines” is an array of objects."))
      return
    }
    while !lines.isAtEnd {
      let path = "lines[\(lines.currentIndex)]"
      if let line = try? lines.nestedContainer(keyedBy: AnyKey.self) {
        read(line, path)
      } else {
        mistakes.append(Mistake(field: path, message: "A line is an object."))
        // A line that isn't one is passed over.
        _ = try? lines.decode(Skipped.self)
        draft.lines.append(OrderLine(sku: "", quantity: 1))
      }
    }
  }

  /// Reads anything.
  private struct Skipped: Decodable {
    init(from decoder: any Decoder) {}
  }

  private mutating func read(_ line: KeyedDecodingContainer<AnyKey>, _ path: String) {
    checkNames(line.allKeys, LineField.allCases.map(\.rawValue), in: "\(path).")
    let sku = text(LineField.sku.rawValue, line, path: "\(path).sku")
    var quantity = 1
    if let value = try? line.decode(Int.self, forKey: AnyKey(stringValue: "quantity")) {
      quantity = value
    } else {
      let field = "\(path).quantity"
      mistakes.append(Mistake(field: field, message: "“quantity” is a whole number."))
    }
    draft.lines.append(OrderLine(sku: sku, quantity: quantity))
  }

  private mutating func text(
    _ name: String,
    _ fields: KeyedDecodingContainer<AnyKey>,
    path: String
  ) -> String {
    let key = AnyKey(stringValue: name)
    if let text = try? fields.decode(String.self, forKey: key) { return text }
    // A field that isn't there is a mistake of the draft.
    if fields.contains(key) {
      mistakes.append(Mistake(field: path, message: "“\(name)” is a text."))
    }
    return ""
  }

  private mutating func checkNames(_ keys: [AnyKey], _ known: [String], in path: String) {
    for name in keys.map(\.stringValue).sorted() where !known.contains(name) {
      let message = "“\(name)” is unknown; there are \(known.joined(separator: ", "))."
      mistakes.append(Mistake(field: path + name, message: message))
    }
  }

  /// All mistakes: those of the JSON, of the draft, and items that the shop doesn't have.
  ///
  /// - Parameter items: What the shop has.
  /// - Returns: One for each field, in the order of their finding.
  func allMistakes(items: [Item]) -> [Mistake] {
    var all = mistakes
    for mistake in draft.problems(in: items).map(Mistake.init)
    where !all.contains(where: { $0.field == mistake.field }) {
      all.append(mistake)
    }
    return all
  }
}
