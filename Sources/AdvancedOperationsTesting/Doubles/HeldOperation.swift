public import AdvancedOperations
import CoreOperations

/// An operation that stays in its body until a test releases it.
///
/// A held operation keeps its slot and its claims for as long as a test needs:
///
/// ```swift
/// let holder = HeldOperation(name: "holder")
/// holder.addClaim(MutuallyExclusive("database"))
/// queue.addOperations([holder, migration])
/// simulation.run()
/// #expect(migration.state == .ready)
///
/// holder.release()
/// simulation.run()
/// #expect(migration.isFinished)
/// ```
public final class HeldOperation: AdvancedOperation, @unchecked Sendable {
  // Sendable: `hold` has a lock, and the policy doesn't change.
  private struct Hold {
    var isReleased = false
    var errors: [any Error] = []
    var isInBody = false
  }

  private let hold = Locked(Hold())
  private let policy: CancellationPolicy

  /// Creates an operation that executes until it is released.
  ///
  /// - Parameters:
  ///   - name: The name of the operation.
  ///   - cancellationPolicy: The effect of a cancel while the operation executes. With
  ///     `CancellationPolicy.whenFinishIsCalled`, a cancelled operation executes until it is
  ///     released.
  public init(name: String? = nil, cancellationPolicy: CancellationPolicy = .finishImmediately) {
    policy = cancellationPolicy
    super.init()
    if let name { self.name = name }
  }

  /// The policy that was passed to the initializer.
  public override var cancellationPolicy: CancellationPolicy { policy }

  /// Whether the operation executes and waits for its release.
  public var isHeld: Bool { hold.withLock { $0.isInBody && !$0.isReleased } && !isFinished }

  /// Finishes the operation, immediately or as soon as it executes; only the first release takes
  /// effect.
  ///
  /// - Parameter errors: The errors with which the operation fails; none for a success.
  public func release(withErrors errors: [any Error] = []) {
    let isInBody = hold.withLock { hold in
      guard !hold.isReleased else { return false }
      hold.isReleased = true
      hold.errors = errors
      return hold.isInBody
    }
    if isInBody { end() }
  }

  /// Waits for the release.
  public override func execute() {
    let isReleased = hold.withLock { hold in
      hold.isInBody = true
      return hold.isReleased
    }
    if isReleased {
      finish(withErrors: hold.withLock { $0.errors })
    } else {
      Simulation.of(self)?.record(of: self).held(1)
    }
  }

  private func end() {
    Simulation.of(self)?.record(of: self).held(-1)
    finish(withErrors: hold.withLock { $0.errors })
  }
}

extension HeldOperation: EndsByOwnCall {
  package var endingCall: String { "release()" }
}
