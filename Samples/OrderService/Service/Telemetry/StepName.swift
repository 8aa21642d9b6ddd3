import AdvancedOperations
import ServiceContextModule

/// What an operation of the desk's queue is, from its name.
struct StepName: Hashable, Sendable {
  /// What metrics call it: of a bounded number of words, so without an item's or an order's name.
  var step: String
  /// Whether it is an order, and not a step of one.
  var isOrder: Bool

  init(_ operation: AdvancedOperation) {
    self.init(operation.name ?? "")
    isOrder = step == "order" && operation is GroupOperation
  }

  /// Reads a name: `reserve MUG` is the step `reserve`.
  init(_ name: String) {
    isOrder = false
    let words = name.split(separator: " ")
    guard let first = words.first, Self.steps.contains(String(first)) else {
      step = "other"
      return
    }
    // A step whose body makes requests is another thing than those.
    let isRequest = words.count > 1 && ["request", "requests"].contains(words.last)
    step = isRequest ? "\(first) \(words[words.count - 1])" : String(first)
  }

  private static let steps: Set<String> = [
    "order", "validate", "reserve", "charge", "ship", "confirm", "refund", "release", "recall",
    "note", "finish",
  ]

  /// The order that an operation belongs to; nil when it is none's.
  ///
  /// Operations that a body runs are in no group: the context of the body says what order it is.
  static func order(of operation: AdvancedOperation) -> String? {
    var outermost = operation
    while let group = outermost.group { outermost = group }
    guard let name = outermost.name, name.hasPrefix("order ") else {
      return ServiceContext.current?.orderID
    }
    return String(name.dropFirst(6))
  }
}

extension ServiceContext {
  private enum OrderKey: ServiceContextKey {
    typealias Value = String
    static let nameOverride: String? = "order"
  }

  /// The order for which something is done.
  var orderID: String? {
    get { self[OrderKey.self] }
    set { self[OrderKey.self] = newValue }
  }
}
