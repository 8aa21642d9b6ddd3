/// A mistake in a draft.
public enum OrderProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// A field is empty, or isn't there.
  case missing(field: String)

  /// A text is longer than it may be, in bytes of UTF-8.
  case tooLong(field: String, count: Int, limit: Int)

  /// A text has the character U+0000, which databases don't keep.
  case nullCharacter(field: String)

  /// There are more lines than an order may have.
  case tooManyLines(count: Int, limit: Int)

  /// A line has no quantity that can be ordered.
  case quantity(line: Int, is: Int, limit: Int)

  /// Two lines have the same item.
  case repeatedItem(line: Int, sku: String)

  /// The shop has no such item.
  case unknownItem(line: Int, sku: String)

  /// Where the mistake is: a path such as `lines[2].quantity`.
  public var field: String {
    switch self {
    case .missing(let field), .tooLong(let field, _, _), .nullCharacter(let field): field
    case .tooManyLines: "lines"
    case .quantity(let line, _, _): "lines[\(line)].quantity"
    case .repeatedItem(let line, _), .unknownItem(let line, _): "lines[\(line)].sku"
    }
  }

  /// One sentence that says how to mend it.
  public var description: String {
    switch self {
    case .missing(let field): "“\(field)” is needed."
    case .tooLong(let field, let count, let limit):
      "“\(field)” has at most \(limit) bytes, and this one has \(count)."
    case .nullCharacter(let field): "“\(field)” has the character U+0000, which can't be kept."
    case .tooManyLines(let count, let limit):
      "An order has at most \(limit) lines, and this one has \(count)."
    case .quantity(_, let quantity, let limit):
      "A quantity is from 1 to \(limit), and this one is \(quantity)."
    case .repeatedItem(_, let sku): "“\(sku)” has a line already; add the quantities up."
    case .unknownItem(_, let sku): "The shop has no item “\(sku)”."
    }
  }
}
