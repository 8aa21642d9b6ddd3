import AdvancedOperations
import AdvancedTestSupport
import Dispatch
import TestSupport
import Testing

/// A clock whose time, asked for by a queue, is the moment at which something else happens.
private struct MomentClock: Clock {
  final class Moment: Sendable {
    private let state = Locked((left: -1, action: Optional<@Sendable () -> Void>.none))

    func set(after count: Int, _ action: @escaping @Sendable () -> Void) {
      state.withLock { $0 = (count, action) }
    }

    func pass() {
      let action = state.withLock { state -> (@Sendable () -> Void)? in
        state.left -= 1
        return state.left == 0 ? state.action.take() : nil
      }
      action?()
    }
  }

  let moment: Moment
  private let clock = ContinuousClock()

  init(_ moment: Moment) { self.moment = moment }

  var now: ContinuousClock.Instant {
    moment.pass()
    return clock.now
  }
  var minimumResolution: Duration { clock.minimumResolution }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: deadline, tolerance: tolerance)
  }
}

@Suite(.watched) struct `The end of an operation whose queue is taking its claims again` {
  enum End: CaseIterable {
    case cancel, cancelAll, finish, skip

    func callAsFunction(_ operation: AdvancedOperation, in queue: OperationQueue) {
      switch self {
      case .cancel: operation.cancel()
      case .cancelAll: queue.cancelAllOperations()
      case .finish: operation.finish()
      case .skip: operation.skip(reason: "enough")
      }
    }
  }

  /// The moments are those at which the clock is asked after the decision to try again; one of them
  /// is that in which the claims are counted.
  @Test(arguments: End.allCases, 1...8)
  func `an operation that ends while it acquires claims again leaves none acquired`(
    end: End,
    moment number: Int
  ) async throws {
    let moment = MomentClock.Moment()
    let domain = ClaimDomain()
    let environment = OperationEnvironment(
      clock: OperationClock(MomentClock(moment)),
      claimDomain: domain
    )
    let queue = AdvancedOperationQueue(environment: environment)
    let retry = RetryPolicy.constant(.milliseconds(1)).attempts(2).releasingSlot()
    let operation = ResultOperation<Void>(retry: retry) { throw Flaw(1) }
    operation.addClaim(MutuallyExclusive("x"))
    operation.addClaim(RateLimit("r", 2, per: .seconds(1)))
    operation.addObserver(
      BlockObserver(willRetry: { [unowned operation] _, _ in
        let quiet = DispatchSemaphore(value: 0)
        operation.afterIdle { _ in quiet.signal() }
        moment.set(after: number) { [weak operation] in
          guard let operation else { return }
          end(operation, in: queue)
          // The body ends on another thread, so this one, a worker of the queue, may wait for it.
          if unsafe withUnsafeCurrentTask(body: { unsafe $0 == nil }) { quiet.wait() }
        }
      })
    )
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    moment.set(after: -1) {}
    let next = AdvancedOperation()
    next.addClaim(MutuallyExclusive("x", whenBusy: .fail))
    queue.addOperation(next)
    try await queue.untilAllOperationsAreFinished()
    #expect(next.outcome?.isSuccess == true, "\(next.explain())")
  }
}
