public import AdvancedOperations
import CoreOperations

/// An operation that stays in its body until a test releases it.
///
/// It takes its place, a slot and claims, for as long as a test needs that:
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

  /// Creates an operation that is held.
  ///
  /// - Parameters:
  ///   - name: What it is called.
  ///   - cancellationPolicy: What a cancel does to it in its body; with
  ///     `CancellationPolicy.whenFinishIsCalled` it stays there until it is released.
  public init(name: String? = nil, cancellationPolicy: CancellationPolicy = .finishImmediately) {
    policy = cancellationPolicy
    super.init()
    if let name { self.name = name }
  }

  /// What was given when it was made.
  public override var cancellationPolicy: CancellationPolicy { policy }

  /// Whether it is in its body, and waits to be released.
  public var isHeld: Bool { hold.withLock { $0.isInBody && !$0.isReleased } && !isFinished }

  /// Lets the body end, now or as soon as it begins; the first release counts.
  ///
  /// - Parameter errors: What the operation fails with; none for a success.
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
