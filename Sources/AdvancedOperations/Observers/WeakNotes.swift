import CoreOperations

/// A reference that doesn't keep its object alive.
final class WeakReference<Object: AnyObject & Sendable>: Sendable {
  weak let object: Object?
  init(_ object: Object) { self.object = object }
}

/// What is known of objects, as long as they exist; doesn't keep them alive.
///
/// An object that is gone is forgotten with its note, which another object at the same address
/// doesn't get.
final class WeakNotes<Object: AnyObject & Sendable, Note: Sendable>: Sendable {
  private struct Entry {
    let reference: WeakReference<Object>
    /// Counts the entries, to list them in their order.
    let number: Int
    var note: Note
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    var lastNumber = 0
    var limit = 64
  }

  private let state = Locked(State())

  /// The objects that exist, in the order in which they were noted.
  var objects: [Object] {
    let entries = state.withLock { $0.entries.values.sorted { $0.number < $1.number } }
    return entries.compactMap(\.reference.object)
  }

  /// Changes what is known of an object that the caller keeps alive: it isn't released here.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - new: The note of an object that is not known yet.
  ///   - body: Changes the note.
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

  /// The objects are looked at outside of the lock: the last reference to one may go.
  private func forgetGone() {
    let references = state.withLock { $0.entries.values.map(\.reference) }
    let gone = Set(references.filter { $0.object == nil }.map { ObjectIdentifier($0) })
    state.withLock { state in
      state.entries = state.entries.filter { !gone.contains(ObjectIdentifier($0.value.reference)) }
      state.limit = max(64, 2 * state.entries.count)
    }
  }

  /// Forgets an object, and returns what was known of it.
  func take(_ object: Object) -> Note? {
    let entry = state.withLock { $0.entries.removeValue(forKey: ObjectIdentifier(object)) }
    return entry.flatMap { $0.reference.object === object ? $0.note : nil }
  }
}
