/// A condition that is made of others.
protocol CompoundCondition: OperationCondition {
  var parts: [any OperationCondition] { get }
}

extension OperationCondition {
  /// Whether the answer is always known without waiting.
  var isImmediate: Bool {
    if let compound = self as? any CompoundCondition {
      return compound.parts.allSatisfy(\.isImmediate)
    }
    return self is any ImmediateCondition
  }

  /// The name in that of a condition which this is a part of.
  var nameAsPart: String {
    let partCount = (self as? any CompoundCondition)?.parts.count ?? 1
    return partCount > 1 ? "(\(name))" : name
  }

  /// The answer, without a task switch if it is known.
  func answer(for operation: AdvancedOperation) async -> OperationConditionResult {
    if let verdict = verdict(for: operation) { return verdict }
    return await evaluate(for: operation)
  }

  /// A result with this condition's name, for a condition that is made of several.
  func named(_ result: OperationConditionResult) -> OperationConditionResult {
    guard case .failed(let error) = result, !(error is OperationConditionError) else {
      return result
    }
    return .failed(OperationConditionError(condition: name, underlying: error))
  }
}

extension [any OperationCondition] {
  func combinedName(_ word: String, empty: String) -> String {
    isEmpty ? empty : map(\.nameAsPart).joined(separator: " \(word) ")
  }

  func combinedDependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    var helpers: [AdvancedOperation] = []
    for helper in compactMap({ $0.dependency(for: operation) }) where !helpers.contains(helper) {
      helpers.append(helper)
    }
    if helpers.count <= 1 { return helpers.first }
    // Nothing can wait for one that another group is going to run; the operation says so.
    if let child = helpers.first(where: { $0.waitingGroup != nil }) { return child }
    let own = helpers.filter { $0.claimAsHelper() }
    let group = GroupOperation(name: "helpers of \(operation.label)") { own }
    // Those that are run elsewhere are only waited for.
    for helper in helpers where !own.contains(helper) { group.addDependency(helper) }
    return group
  }
}
