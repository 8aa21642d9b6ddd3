public import AdvancedOperations

/// An operation whose work is a closure, and that counts how often it was executed.
open class Work: AdvancedOperation, @unchecked Sendable {
  // Sendable: all stored properties are immutable.
  private let policy: CancellationPolicy
  private let body: @Sendable (Work) -> Void
  private let token: Token?
  package let executions = Counter()
  /// What the hooks were called with, in order.
  package let hooks = Log<String>()

  package init(
    _ name: String? = nil,
    policy: CancellationPolicy = .finishImmediately,
    token: Token? = nil,
    body: @escaping @Sendable (Work) -> Void = { $0.finish() }
  ) {
    self.policy = policy
    self.token = token
    self.body = body
    super.init()
    if let name { self.name = name }
  }

  open override func execute() {
    executions.add()
    body(self)
  }

  open override var cancellationPolicy: CancellationPolicy { policy }
  open override func finished(withErrors errors: [any Error]) {
    hooks.add("finished \(flaws(errors))")
  }
  open override func cancelled(withErrors errors: [any Error]) {
    hooks.add("cancelled \(flaws(errors))")
  }

  package var didExecute: Bool { executions.count > 0 }

  /// One that goes on after `execute()` returned, until it is finished from outside.
  package static func open(
    _ name: String? = nil,
    policy: CancellationPolicy = .finishImmediately
  ) -> Work {
    Work(name, policy: policy) { _ in }
  }

  /// One that fails.
  package static func failing(_ name: String? = nil, _ flaw: Int = 1) -> Work {
    Work(name) { $0.finish(withError: Flaw(flaw)) }
  }
}

/// An error with a number, to tell one from another.
package struct Flaw: Error, Hashable, CustomStringConvertible {
  package let number: Int
  package init(_ number: Int) { self.number = number }
  package var description: String { "flaw \(number)" }
}

/// The numbers of the flaws that an operation ended with.
package func flaws(_ outcome: OperationOutcome) -> [Int] { flaws(outcome.failure?.errors ?? []) }

/// The numbers of flaws, conditions' wrappers removed; 0 for any other error.
package func flaws(_ errors: [any Error]) -> [Int] {
  errors.map { error in
    let inner = (error as? OperationConditionError)?.underlying ?? error
    return (inner as? Flaw)?.number ?? 0
  }
}

package typealias Kind = OperationOutcome.Kind

extension AdvancedOperation {
  /// Which outcome it has; nil while there is none.
  package var kind: Kind? { outcome?.kind }

  /// The numbers of the flaws among its errors.
  package var flawNumbers: [Int] { flaws(errors) }

  package var origins: [OperationFailure.Origin] {
    outcome?.failure?.elements.map(\.origin) ?? []
  }
}
