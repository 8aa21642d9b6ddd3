import OrderWorkflow
import ServiceSupport

/// What the JSON of a request says about an order, and all that is wrong with it.
///
/// A field that can't be read is empty in the draft, so that all other mistakes are found as well.
/// Of lines and unknown names that are too many, the first ones are read, and one mistake says so:
/// the answer to a small body is small.
struct DraftReading: Decodable {
  /// What was understood.
  private(set) var draft = OrderDraft(customer: "", cardToken: "", lines: [])
  /// What wasn't.
  private(set) var mistakes: [Mistake] = []

  /// How many unknown names of one object are mistakes of their own.
  private static let nameLimit = 10

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
    while !lines.isAtEnd, draft.lines.count < OrderDraft.maximumLines {
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
    if !lines.isAtEnd {
      let count = lines.count ?? lines.currentIndex + 1
      let problem = OrderProblem.tooManyLines(count: count, limit: OrderDraft.maximumLines)
      mistakes.insert(Mistake(problem), at: 0)
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
    let unknown = keys.map(\.stringValue).filter { !known.contains($0) }.sorted()
    let names = known.joined(separator: ", ")
    for name in unknown.prefix(Self.nameLimit) {
      let message = "“\(name)” is unknown; there are \(names)."
      mistakes.append(Mistake(field: path + name, message: message))
    }
    if unknown.count > Self.nameLimit {
      let message = "\(unknown.count) names are unknown; there are \(names)."
      mistakes.append(Mistake(field: path + "…", message: message))
    }
  }

  /// All mistakes: some that were found, those of the draft, and items that the shop doesn't have.
  ///
  /// - Parameters:
  ///   - found: Those of the JSON and of the request's head.
  ///   - items: What the shop has.
  /// - Returns: One for each field, in the order of their finding.
  func all(_ found: [Mistake], items: [Item]) -> [Mistake] {
    var fields = Set(found.map(\.field))
    return found
      + draft.problems(in: items).map(Mistake.init).filter { fields.insert($0.field).inserted }
  }
}
