import AdvancedOperations
import AdvancedOperationsVisualization
import Testing

// Each client target compiles this file, with its own settings.
#if IMPORTS_FOUNDATION
import Foundation
#endif

// The compiler checks these two lists: it accepts `@unknown default` only where a later version may
// add a case, and wants it there.

// MARK: Enumerations that may grow

private nonisolated func word(_ event: OperationEvent) -> String {
  switch event {
  case .enqueued, .started, .produced, .progress, .retrying, .cancelled, .willFinish, .finished,
    .dropped:
    "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ kind: OperationEvent.Kind) -> String {
  switch kind {
  case .enqueued, .started, .produced, .progress, .retrying, .cancelled, .willFinish, .finished,
    .dropped:
    "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ cause: OperationWaitCause) -> String {
  switch cause {
  case .notEnqueued, .dependencies, .suspended, .barrier, .limit, .notReady, .worker, .mainThread,
    .awaiting:
    "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ kind: OperationExplanation.Cause.Kind) -> String {
  switch kind {
  case .cycle, .finishNotCalled, .notEnqueued, .suspended, .notReady, .limit, .barrier, .claim,
    .condition, .journal, .prerequisite, .dependency, .group, .children, .awaiting, .retry,
    .mainThread, .gate, .worker, .executing, .finishing, .finished:
    "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ error: OperationClaimError) -> String {
  switch error {
  case .busy, .preempted, .exceedsCapacity, .rateExceeded: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ cancellation: OperationFailure.Cancellation) -> String {
  switch cancellation {
  case .withoutReason, .reason, .timeout, .parent: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ cause: OperationQueueClosed.Cause) -> String {
  switch cause {
  case .addedLate, .deadlineExceeded, .waitCancelled: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ kind: OperationGraph.Edge.Kind) -> String {
  switch kind {
  case .dependency, .produced: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ error: OperationProduceError) -> String {
  switch error {
  case .notExecuting, .noQueue: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ action: OperationJournalError.Action) -> String {
  switch action {
  case .lookUp, .record: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ whenBusy: WhenBusy) -> String {
  switch whenBusy {
  case .wait, .fail, .skip, .cancelHolder: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ phase: TimeoutObserver.Phase) -> String {
  switch phase {
  case .waiting, .evaluating, .executing, .all: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ policy: GroupOperation.ErrorPolicy) -> String {
  switch policy {
  case .collectAll, .failFast: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ policy: AdvancedOperation.ConditionPolicy) -> String {
  switch policy {
  case .evaluateAll, .stopAtFirstFailure: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ policy: AdvancedOperation.CancellationPolicy) -> String {
  switch policy {
  case .finishImmediately, .whenFinishIsCalled: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ order: OperationSchedule.Order) -> String {
  switch order {
  case .firstAdded, .longestPath: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ decision: DependencyRule.Decision) -> String {
  switch decision {
  case .satisfied, .broken, .undecided: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ kind: FileExists.Kind) -> String {
  switch kind {
  case .any, .file, .folder: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ problem: FileExists.Problem) -> String {
  switch problem {
  case .missing, .wrongKind, .unreadable: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ problem: FreeSpace.Problem) -> String {
  switch problem {
  case .tooLittle, .unknown, .notMeasured: "known"
  @unknown default: "later"
  }
}

// MARK: Enumerations that stay as they are

private nonisolated func word(_ outcome: OperationOutcome) -> String {
  switch outcome {
  case .succeeded, .failed, .cancelled, .skipped: "all"
  }
}

private nonisolated func word(_ state: AdvancedOperation.State) -> String {
  switch state {
  case .pending, .evaluatingConditions, .ready, .executing, .finishing, .finished: "all"
  }
}

private nonisolated func word(_ priority: AdvancedOperation.QueuePriority) -> String {
  switch priority {
  case .veryLow, .low, .normal, .high, .veryHigh: "all"
  }
}

private nonisolated func word(_ result: OperationConditionResult) -> String {
  switch result {
  case .satisfied, .skipped, .failed: "all"
  }
}

private nonisolated func word(_ state: CircuitBreaker.State) -> String {
  switch state {
  case .closed, .open, .halfOpen: "all"
  }
}

@Suite struct `Enumerations in this app` {
  @Test func `an app knows all cases of the enumerations`() {
    #expect(OperationEvent.Kind.allCases.allSatisfy { word($0) == "known" })
    #expect(OperationExplanation.Cause.Kind.allCases.allSatisfy { word($0) == "known" })
    #expect(OperationGraph.Edge.Kind.allCases.allSatisfy { word($0) == "known" })
    #expect(WhenBusy.allCases.allSatisfy { word($0) == "known" })
    #expect(TimeoutObserver.Phase.allCases.allSatisfy { word($0) == "known" })
    #expect(OperationSchedule.Order.allCases.allSatisfy { word($0) == "known" })
    #expect(FileExists.Kind.allCases.allSatisfy { word($0) == "known" })
    #expect(AdvancedOperation.State.allCases.allSatisfy { word($0) == "all" })
    #expect(CircuitBreaker.State.allCases.allSatisfy { word($0) == "all" })
  }
}
