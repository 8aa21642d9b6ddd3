/// The ages of root causes, which decide about the causes that a watch reports.
///
/// The first report of a cause is due when the cause has lasted for the limit. A later report is due each
/// time its age has doubled. Times are passed as arguments, and objects aren't retained.
struct StuckCauses {
  /// A cause that was found at one time.
  struct Sighting {
    /// The first of the operations that the cause keeps.
    let object: AnyObject
    let kind: OperationExplanation.Cause.Kind
    /// The duration of the cause; nil if it isn't known, and the duration begins when the cause was first
    /// seen.
    let duration: Duration?
    /// Whether the cause ends by itself at a known time, so that it is never stuck.
    let endsInTime: Bool
  }

  private struct Key: Hashable {
    let object: ObjectIdentifier
    let kind: OperationExplanation.Cause.Kind
  }

  private struct Entry {
    /// A new object may have the address of a deallocated object.
    private(set) weak var object: AnyObject?
    let firstSeen: Duration
    var age = Duration.zero
    var next: Duration
    var lastSeen: Duration
  }

  let limit: Duration
  private var entries: [Key: Entry] = [:]
  /// The time at which causes were recorded last.
  private var lastLook: Duration?

  init(limit: Duration) { self.limit = limit }

  /// Records all causes that exist at a time.
  ///
  /// - Returns: The age of each cause that is to be reported now; nil for the others.
  mutating func seen(_ sightings: [Sighting], at now: Duration) -> [Duration?] {
    let old = entries
    defer { lastLook = now }
    // An operation that executes may wait for others in between, and continues with its age.
    entries = old.filter { key, entry in
      key.kind == .executing && entry.object != nil
        && now - entry.lastSeen <= limit.saturatingMultiplied(by: 4)
    }
    return sightings.map { sighting in
      if sighting.endsInTime { return nil }
      let key = Key(object: ObjectIdentifier(sighting.object), kind: sighting.kind)
      let fresh = Entry(object: sighting.object, firstSeen: now, next: limit, lastSeen: now)
      var entry = old[key].flatMap { $0.object === sighting.object ? $0 : nil } ?? fresh
      // Without a known duration, a cause that was away is a new one.
      if sighting.duration == nil, entry.lastSeen < lastLook ?? now { entry = fresh }
      entry.lastSeen = now
      let age = sighting.duration ?? now - entry.firstSeen
      // The age is smaller than before, so the operation has begun another wait of this kind.
      if age < entry.age { entry = fresh }
      entry.age = age
      let isDue = age >= entry.next
      if isDue { while entry.next <= age { entry.next = entry.next.saturatingMultiplied(by: 2) } }
      entries[key] = entry
      return isDue ? age : nil
    }
  }
}

extension StuckCauses.Sighting {
  init(_ finding: Finding) {
    object = finding.operation
    kind = finding.kind
    duration = finding.activeDuration ?? finding.duration
    endsInTime = finding.endsInTime
  }
}
