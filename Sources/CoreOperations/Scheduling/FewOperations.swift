/// A list of operations that has room for one without an array: in a chain, there never is a second.
struct FewOperations {
  private var first: Operation?
  private var others: [Operation] = []

  init() {}

  var isEmpty: Bool { first == nil }

  mutating func append(_ operation: Operation) {
    if first == nil { first = operation } else { others.append(operation) }
  }

  mutating func popLast() -> Operation? { others.popLast() ?? first.take() }

  func forEach(_ body: (Operation) -> Void) {
    if let first { body(first) }
    for operation in others { body(operation) }
  }

  func allSatisfy(_ isSo: (Operation) -> Bool) -> Bool {
    guard let first else { return true }
    return isSo(first) && others.allSatisfy(isSo)
  }

  /// Takes all out.
  mutating func takeAll() -> FewOperations {
    defer { self = FewOperations() }
    return self
  }
}
