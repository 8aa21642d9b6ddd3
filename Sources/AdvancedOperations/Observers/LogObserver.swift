import CoreOperations

/// An observer that writes a line for each important event of an operation.
///
/// ```swift
/// let log = LogObserver { line in logger.info("\(line)") }
/// for operation in workflow { operation.addObserver(log) }
/// ```
///
/// ```
/// download: enqueued
/// download: started, having waited 12 ms
/// download: attempt 1 failed, tries again in 2 s: The connection was lost.
/// download: cancelled while executing: The time limit of 30 s was exceeded.
/// download: cancelled after 30 s: timed out: The time limit of 30 s was exceeded.
/// store: failed without having run: dependency “download”: timed out: The time limit of 30 s was exceeded.
/// ```
///
/// Each line begins with the operation's name, or its type if it has no name. Line breaks in errors are
/// replaced, so an event is always one line. Progress is not written. Durations are measured by the clock of
/// the operation's environment. The observer calls the closure while no lock is held. The calls for one
/// operation never overlap.
public struct LogObserver: OperationObserver {
  private struct Times {
    var enqueued: Duration?
    var started: Duration?
  }

  /// The times at which unfinished operations were enqueued and started, shared by copies of the observer.
  ///
  /// The observer may miss the end of an operation that is released without having run, or from which the
  /// observer was removed. The times of such an operation are forgotten after it is deallocated.
  private let notes = WeakNotes<AdvancedOperation, Times>()
  private let log: @Sendable (String) -> Void

  /// Creates an observer, which may be attached to many operations.
  ///
  /// - Parameter log: A closure that receives the line, without a line break at its end.
  public init(_ log: @escaping @Sendable (String) -> Void) { self.log = log }

  private func write(_ operation: AdvancedOperation, _ text: String) {
    log("\(operation.label): \(text)".inOneLine)
  }

  /// Writes “enqueued”.
  public func operationDidEnqueue(_ operation: AdvancedOperation) {
    let now = operation.environment.clock.now
    notes.change(operation, from: Times()) { $0.enqueued = now }
    write(operation, "enqueued")
  }

  /// Writes “started”, and the time since the operation was enqueued.
  public func operationDidStart(_ operation: AdvancedOperation) {
    let now = operation.environment.clock.now
    let times = notes.change(operation, from: Times()) { $0.started = now }
    let wait = times.enqueued.map { ", having waited \((now - $0).readable)" } ?? ""
    write(operation, "started\(wait)")
  }

  /// Writes “produced”, and the name of the other operation.
  public func operation(
    _ operation: AdvancedOperation,
    didProduce newOperation: AdvancedOperation
  ) { write(operation, "produced \(newOperation.label)") }

  /// Writes the number of the failed attempt, its error, and the delay before the next attempt.
  public func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) {
    let time = retry.delay > .zero ? "in \(retry.delay.readable)" : "immediately"
    let reason = retry.error.inOneLine
    write(operation, "attempt \(retry.nextAttempt - 1) failed, tries again \(time): \(reason)")
  }

  /// Writes “cancelled”, the phase of the operation, and the reason.
  public func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    // The state can't be used, because an operation that hasn't started may have finished by now.
    let phase = operation.hasStarted ? "while executing" : "before it started"
    let text = errors.map(\.inOneLine).joined(separator: "; ")
    write(operation, "cancelled \(phase)\(text.isEmpty ? "" : ": \(text)")")
  }

  /// Writes the outcome in one word, the time since the start of the operation, and the failure.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    let now = operation.environment.clock.now
    let begin = notes.take(operation)?.started
    let time = begin.map { " after \((now - $0).readable)" } ?? " without having run"
    switch outcome {
    case .succeeded:
      let source = operation.isFromJournal ? ", with the value from its journal" : ""
      write(operation, "succeeded\(time)\(source)")
    case .skipped(let reason):
      write(operation, "skipped\(begin == nil ? "" : time): \(reason.inOneLine)")
    case .failed(let failure): write(operation, "failed\(time): \(failure.summary())")
    case .cancelled(let failure):
      let text = failure.elements.isEmpty ? "" : ": \(failure.summary())"
      write(operation, "cancelled\(time)\(text)")
    }
  }
}

/// A reference that doesn't keep its object alive.
package final class WeakReference<Object: AnyObject & Sendable>: Sendable {
  package weak let object: Object?
  package init(_ object: Object) { self.object = object }
}

/// A table of notes about objects, which doesn't keep the objects alive.
///
/// The note of a deallocated object is forgotten. Another object at the same address doesn't get the note.
final class WeakNotes<Object: AnyObject & Sendable, Note: Sendable>: Sendable {
  private struct Entry {
    let reference: WeakReference<Object>
    /// The number of the entry, by which entries are sorted.
    let number: Int
    var note: Note
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    var lastNumber = 0
    var limit = 64
  }

  private let state = Locked(State())

  /// The objects that exist, in the order in which they were added.
  var objects: [Object] {
    let entries = state.withLock { $0.entries.values.sorted { $0.number < $1.number } }
    return entries.compactMap(\.reference.object)
  }

  /// Changes the note of an object.
  ///
  /// The caller keeps the object alive, so that this method doesn't release it.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - new: The initial note of an object that isn't in the table.
  ///   - body: A closure that changes the note.
  /// - Returns: The note.
  @discardableResult
  func change(_ object: Object, from new: Note, _ body: (inout Note) -> Void = { _ in }) -> Note {
    let reference = WeakReference(object)
    let (note, isFull) = state.withLock { state in
      let known = state.entries[ObjectIdentifier(object)]
      state.lastNumber += 1
      var entry =
        known.flatMap { $0.reference.object === object ? $0 : nil }
        ?? Entry(reference: reference, number: state.lastNumber, note: new)
      body(&entry.note)
      state.entries[ObjectIdentifier(object)] = entry
      return (entry.note, state.entries.count > state.limit)
    }
    if isFull { forgetGone() }
    return note
  }

  /// Removes the entries of deallocated objects.
  ///
  /// The objects are read outside the lock, because this may release the last reference to an object.
  private func forgetGone() {
    let references = state.withLock { $0.entries.values.map(\.reference) }
    let gone = Set(references.filter { $0.object == nil }.map { ObjectIdentifier($0) })
    state.withLock { state in
      state.entries = state.entries.filter { !gone.contains(ObjectIdentifier($0.value.reference)) }
      state.limit = max(64, 2 * state.entries.count)
    }
  }

  /// Removes an object from the table, and returns its note.
  func take(_ object: Object) -> Note? {
    let entry = state.withLock { $0.entries.removeValue(forKey: ObjectIdentifier(object)) }
    return entry.flatMap { $0.reference.object === object ? $0.note : nil }
  }
}
