/// Decides which root causes a watch reports, at the times that it is given.
///
/// The first report of a cause is due when it has lasted for the limit, and each later one when its age has
/// doubled. Objects aren't retained.
struct StuckCauses {
  /// A cause that was found at one time.
  struct Sighting {
    /// The first of the operations that the cause keeps.
    let object: AnyObject
    let kind: OperationExplanation.Cause.Kind
    /// The duration of the cause, if that is known; otherwise the cause began when it was first seen.
    let duration: Duration?
  }

  private struct Key: Hashable {
    let object: ObjectIdentifier
    let kind: OperationExplanation.Cause.Kind
  }

  private struct Entry {
    /// Another object may get the address of a deallocated one.
    private(set) weak var object: AnyObject?
    let firstSeen: Duration
    var age = Duration.zero
    var next: Duration
  }

  let limit: Duration
  private var entries: [Key: Entry] = [:]

  init(limit: Duration) { self.limit = limit }

  /// All causes that there are at a time.
  ///
  /// - Returns: Whether to report each of the causes now.
  mutating func seen(_ sightings: [Sighting], at now: Duration) -> [Bool] {
    let old = entries
    entries = [:]
    return sightings.map { sighting in
      let key = Key(object: ObjectIdentifier(sighting.object), kind: sighting.kind)
      let fresh = Entry(object: sighting.object, firstSeen: now, next: limit)
      var entry = old[key].flatMap { $0.object === sighting.object ? $0 : nil } ?? fresh
      let age = sighting.duration ?? now - entry.firstSeen
      // The operation has begun to wait for something else of this kind.
      if age < entry.age { entry = fresh }
      entry.age = age
      let isDue = age >= entry.next
      if isDue { while entry.next <= age { entry.next = entry.next.saturatingMultiplied(by: 2) } }
      entries[key] = entry
      return isDue
    }
  }
}
