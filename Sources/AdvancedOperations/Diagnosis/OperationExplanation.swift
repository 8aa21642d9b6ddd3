public import CoreOperations

/// A value that explains why an operation isn't running or doesn't continue, with a text for a terminal.
///
/// ```swift
/// print(store.explain())
/// // store waits for parse
/// //   parse waits for “db”, which backup holds
/// //   backup has been executing for 3.2 s
/// // needed: backup has to finish (its async body may be waiting for a timer, …)
/// ```
///
/// The text has one line for each cause, from the operation itself to the root cause. It ends with the
/// actions that end the wait. For an operation that has finished, the text contains the outcome with all
/// errors.
///
/// Operations keep running while the explanation is created. Each line describes an operation at the moment
/// at which the explanation read it.
///
/// An explanation retains the operations that it names.
public struct OperationExplanation: Sendable, Hashable, CustomStringConvertible {
  /// A reason why an operation doesn't start or doesn't continue.
  public struct Cause: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a cause.
    ///
    /// Later versions may add cases, so a `switch` needs an `@unknown default`.
    @nonexhaustive
    public enum Kind: Sendable, Hashable, CaseIterable {
      /// The operation is in a cycle of operations that wait for each other.
      case cycle
      /// The `execute()` of the operation has returned, and `finish()` wasn't called.
      ///
      /// The kind also applies if a class overrides `isFinished`, and its `start()` or `main()` has returned
      /// without reporting the end.
      case finishNotCalled
      /// The operation isn't in a queue, and wasn't started manually.
      case notEnqueued
      /// The queue of the operation is suspended.
      case suspended
      /// The override of `isReady` returns false.
      case notReady
      /// The queue of the operation has no free slot, or its limit is 0.
      case limit
      /// A barrier of the queue has to run before the operation.
      case barrier
      /// A claim of the operation is held by other operations, or isn't available yet.
      case claim
      /// A condition hasn't returned its result.
      case condition
      /// A gate is closed, or a condition that isn't satisfied waits for a change.
      case gate
      /// The journal of the operation hasn't finished looking up or recording the value.
      case journal
      /// A prerequisite operation of a condition hasn't finished.
      case prerequisite
      /// Dependencies of the operation haven't finished.
      case dependency
      /// The operation is a child of a group that hasn't started.
      case group
      /// The operation is a group whose children haven't ended.
      case children
      /// The code of the operation waits for other operations.
      case awaiting
      /// The operation waits for its next attempt or its next round.
      case retry
      /// The operation runs on the main thread, and a wait blocks the main thread.
      case mainThread
      /// A worker of the queue is about to run the operation, or waits for a thread of the pool.
      case worker
      /// The operation is executing, and has no known wait.
      case executing
      /// The end of the operation is decided, and observers are being notified.
      case finishing
      /// The operation has finished.
      case finished
    }

    /// The operations with this cause: one operation, or all operations with an equal cause.
    ///
    /// If a hundred operations wait for the condition “network”, they have one cause with a hundred
    /// operations. Each operation that is executing has a separate cause.
    public var operations: [Operation]
    /// The first element of ``operations``.
    public var operation: Operation { operations[0] }
    /// The name of the first operation when the explanation read it, or its type if it had no name.
    public var name: String
    /// The kind of the cause.
    public var kind: Kind
    /// The operations for which the operation waits, or which are in its way.
    ///
    /// For a cycle, the array contains the operations in the order of the cycle. The first operation is
    /// repeated as the last element.
    public var involved: [Operation]
    /// The name of the condition or claim for which the operation waits; nil for other kinds.
    ///
    /// If the operation waits for a prerequisite of a condition, this is the name of the condition.
    public var requirement: String?
    /// The error of the last attempt if the operation waits for its next attempt; otherwise nil.
    public var error: (any Error)?
    /// The duration of the cause until now, for the first operation; nil if it isn't known.
    ///
    /// The time at which an async body or the evaluation of a condition in a task began is always known. An
    /// operation keeps its other times only if a ``TimeoutObserver`` or a `TimelineRecorder` of the module
    /// AdvancedOperationsVisualization is attached to it.
    public var duration: Duration?
    /// The cause in words, without the name of the operation.
    ///
    /// If equal causes have different times, the text has the time of the first operation.
    public var text: String
    /// The action that ends the cause; nil if the cause ends by itself.
    public var remedy: String?

    /// The cause in words, after the name of the operation, or after the number and the names of several.
    public var description: String { line(seenFrom: nil) }
  }

  /// The explained operation and its state, or the explained queue and its numbers.
  public let subject: String
  /// The direct causes of the operation; for a queue, the direct causes of its operations.
  public let causes: [Cause]
  /// The causes from the operation to the first root cause, both included.
  public let path: [Cause]
  /// The root causes: when they have ended, the operation can start.
  ///
  /// Causes that don't end by themselves come first.
  public let rootCauses: [Cause]
  let lines: [String]

  /// The text, of one line or more, without a line break at its end.
  public var description: String { lines.joined(separator: "\n") }
}

extension OperationExplanation.Cause {
  /// Returns whether two causes have the same operations, properties and words; of errors, the texts are
  /// compared.
  public static func == (a: Self, b: Self) -> Bool {
    a.operations == b.operations && a.kind == b.kind && a.text == b.text && a.name == b.name
      && a.involved == b.involved && a.requirement == b.requirement && a.duration == b.duration
      && a.remedy == b.remedy && a.textOfError == b.textOfError
  }

  /// Hashes the operations, the kind and the text.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(operations)
    hasher.combine(kind)
    hasher.combine(text)
  }

  private var textOfError: String? { error.map { "\($0)" } }
}

extension OperationExplanation.Cause.Kind {
  /// The subject of a cause, which decides whether causes of several operations are equal.
  enum Scope {
    /// The cause is about one operation, for example an operation that is executing.
    case operation
    /// The cause is about something that several operations may need.
    case requirement
    /// The cause is about a queue, and is the same for all operations that wait in it.
    case queue
  }

  /// The rank and the scope with which causes of this kind are sorted and combined.
  ///
  /// The higher the rank, the less likely it is that the cause ends by itself.
  var traits: (rank: Int, scope: Scope) {
    switch self {
    case .suspended: (2, .queue)
    case .gate: (2, .requirement)
    case .cycle, .finishNotCalled: (2, .operation)
    case .notEnqueued, .notReady: (2, .requirement)
    case .limit, .barrier, .mainThread: (1, .queue)
    case .claim, .condition, .journal, .prerequisite, .dependency, .group, .children, .awaiting:
      (1, .requirement)
    case .worker: (0, .queue)
    case .retry: (0, .requirement)
    case .executing, .finishing, .finished: (0, .operation)
    }
  }
}
