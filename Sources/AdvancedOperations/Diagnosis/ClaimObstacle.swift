import CoreOperations

/// A claim that an operation waits for, and why.
struct ClaimObstacle {
  let name: String
  /// The operations that hold it.
  let holders: [AdvancedOperation]
  /// Who stands before the operation in line.
  let front: AdvancedOperation?
  /// When time alone makes it available.
  let availableAt: Duration?
}

extension ExclusivityDomain {
  /// What keeps an operation from its claims; empty when it is about to try again.
  func obstacles(of operation: AdvancedOperation) -> [ClaimObstacle] {
    waits(of: operation).map { wait in
      ClaimObstacle(
        name: wait.name,
        holders: wait.holders,
        front: wait.front,
        availableAt: wait.availableAt
      )
    }
  }
}
