public import CoreOperations

/// Why an operation isn't running, or doesn't go on: a value, and text for a terminal.
///
/// ```swift
/// print(store.explain())
/// // store waits for parse
/// //   parse waits for “db”, which backup holds
/// //   backup has been executing for 3.2 s
/// // needed: backup has to finish (its async body may be waiting for a timer, …)
/// ```
///
/// The text has one line for each cause, from the operation itself to the cause that is at the root
/// of it, and ends with what has to happen. Of an operation that has finished it says how, with all
/// that went wrong. Operations go on while they are looked at: each line is as it was when that
/// operation was looked at.
///
/// An explanation keeps the operations that it names alive.
public struct OperationExplanation: Sendable, Hashable, CustomStringConvertible {
  /// Something that keeps an operation from starting or from going on.
  public struct Cause: Sendable, Hashable, CustomStringConvertible {
    /// What kind of thing it is.
    ///
    /// Later versions may add cases, so a `switch` needs an `@unknown default`.
    @nonexhaustive
    public enum Kind: Sendable, Hashable, CaseIterable {
      /// It waits with others in a cycle.
      case cycle
      /// Its `execute()` has returned, and `finish()` was not called.
      ///
      /// Or the `start()` or `main()` of a class with an `isFinished` of its own has returned, and
      /// the class hasn't reported the end.
      case finishNotCalled
      /// It is in no queue, and was not started manually.
      case notEnqueued
      /// Its queue is suspended.
      case suspended
      /// Its override of `isReady` says false.
      case notReady
      /// All slots of its queue are in use, or there are none.
      case limit
      /// A barrier comes first.
      case barrier
      /// A claim is held by others, or not available yet.
      case claim
      /// A condition has not answered.
      case condition
      /// Its journal has not answered: it looks the value up, or records it.
      case journal
      /// What it needs for a condition has not finished.
      case prerequisite
      /// Dependencies have not finished.
      case dependency
      /// It is a child of a group that has not started.
      case group
      /// It is a group, and has children that have not ended.
      case children
      /// The code of the operation waits for other operations.
      case awaiting
      /// It waits for its next attempt, or its next round.
      case retry
      /// It runs on the main thread, which is blocked by a wait.
      case mainThread
      /// Nothing: a worker of its queue is on its way, or waits for a thread of the pool.
      case worker
      /// Nothing: it is executing.
      case executing
      /// Nothing: its end was decided, and observers are being notified.
      case finishing
      /// Nothing: it is over.
      case finished
    }

    /// The operations that are kept: one, or all those that are kept by an equal cause.
    ///
    /// A hundred operations that wait for the answer of the condition “network” are one cause with
    /// a hundred operations. An operation that is executing is a cause of its own.
    public var operations: [Operation]
    /// The first of ``operations``.
    public var operation: Operation { operations[0] }
    /// The name of the first operation when it was looked at, or its type if it had none.
    public var name: String
    /// What kind of thing keeps it.
    public var kind: Kind
    /// The operations that it waits for or that are in its way, however many; for a cycle those
    /// along it, beginning and ending with the same.
    public var involved: [Operation]
    /// The name of the condition or claim that it waits for, also when that is the condition's
    /// prerequisite; nil for other kinds.
    public var requirement: String?
    /// The error of the last attempt, of an operation that waits for its next one; otherwise nil.
    public var error: (any Error)?
    /// The duration of the cause until now, for the first operation; nil if it isn't known.
    ///
    /// The time at which an async body began, or the evaluation of a condition in a task, is always
    /// known. An operation keeps its other times only if a ``TimeoutObserver`` is attached to it,
    /// or a `TimelineRecorder` of the module AdvancedOperationsVisualization.
    public var duration: Duration?
    /// The cause in words, without the name; where causes are equal but for times, as it is for the
    /// first operation.
    public var text: String
    /// What has to happen for this cause to go; nil if it goes by itself.
    public var remedy: String?

    /// The name of the operation, or the number and names of all, and the cause in words.
    public var description: String { line(seenFrom: nil) }
  }

  /// What it is about: an operation and its state, or a queue and its numbers.
  public let subject: String
  /// What keeps the operation itself; for a queue, what keeps its members.
  public let causes: [Cause]
  /// The way from the operation to the first of the root causes, both included.
  public let path: [Cause]
  /// What everything comes down to: when these are gone, it starts.
  ///
  /// Causes that don't go by themselves come first.
  public let rootCauses: [Cause]
  let lines: [String]

  /// The text, of one line or more, without a line break at its end.
  public var description: String { lines.joined(separator: "\n") }
}

extension OperationExplanation.Cause {
  /// Whether two causes keep the same operations by the same thing, in the same words; of errors,
  /// their texts are compared.
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
  /// What a cause is about, and so which others are equal to it.
  enum Scope {
    /// One operation, as of one that is executing.
    case operation
    /// What several may need.
    case requirement
    /// A queue: the same for all that wait in it.
    case queue
  }

  /// How causes of this kind are sorted and put together.
  ///
  /// The higher the rank, the less likely it is that it goes by itself.
  var traits: (rank: Int, scope: Scope) {
    switch self {
    case .suspended: (2, .queue)
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
