package import AdvancedOperations

/// Why an operation isn't running, as people read it.
package func text(_ operation: Operation) -> String { "\(operation.explain())" }

/// Why an operation isn't running, as programs read it.
package func kinds(_ operation: Operation) -> [OperationExplanation.Cause.Kind] {
  operation.explain().causes.map(\.kind)
}
