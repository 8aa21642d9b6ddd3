import CoreOperations

/// The search for the operations that have to be added so that one of them can run.
struct Workflow {
  private var found: [Operation] = []
  private var visited: Set<ObjectIdentifier> = []

  /// Claims an operation and its predecessors, as far as they are in no queue; predecessors come
  /// first.
  static func claim(endingWith operation: Operation) -> [Operation] {
    var workflow = Workflow()
    workflow.visit(operation)
    // Only this call adds what it has claimed; a call in another task may have claimed some before.
    return workflow.found.filter { $0.claim() }
  }

  /// Not recursive, because chains may be long.
  private mutating func visit(_ last: Operation) {
    var path: [(operation: Operation, open: ArraySlice<Operation>)] = []
    enter(last, &path)
    while let (operation, open) = path.last {
      if let next = open.first {
        path[path.count - 1].open = open.dropFirst()
        enter(next, &path)
      } else {
        path.removeLast()
        found.append(operation)
      }
    }
  }

  private mutating func enter(
    _ operation: Operation,
    _ path: inout [(operation: Operation, open: ArraySlice<Operation>)]
  ) {
    guard !operation.isFinished, visited.insert(ObjectIdentifier(operation)).inserted else {
      return
    }
    var needed = operation.dependencies
    if let operation = operation as? AdvancedOperation {
      // A child is added by its group, which ends when its children do.
      if let group = operation.waitingGroup { needed.append(group) }
      needed += operation.childRunner?.openChildren ?? []
    }
    path.append((operation, needed[...]))
  }
}
