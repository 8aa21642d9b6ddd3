/// One operation waiting for another: a node in two lists at once.
///
/// The dependent owns the node and holds the dependency strongly; the dependency knows the
/// dependent without owning it. Who may touch what:
/// - the neighbours among the dependents: with the lock of the dependency's links held;
/// - the next among the dependencies: with the lock of the dependent's list of them held.
///
/// Both ways of adding and removing cost O(1), and the order of adding is kept. It has 40 bytes,
/// which malloc rounds up to 48.
@unsafe
struct DependencyEdge {
  typealias Pointer = UnsafeMutablePointer<DependencyEdge>

  /// Retained.
  let dependency: Unmanaged<Operation>
  /// Not retained.
  ///
  /// An operation unlinks its edges before it leaves its queue and before it dies,
  /// with the lock held under which the dependency follows this reference.
  let dependent: Unmanaged<Operation>
  /// Of the last one, nil.
  var nextDependent: Pointer?
  /// Of the first one, the last one; nil when it is in no list.
  var previousDependent: Pointer?
  /// The one that was added before.
  var nextDependency: Pointer?

  static func make(dependent: Operation, dependency: Operation) -> Pointer {
    // What the standard library allocates for pointers is aligned by a slower function than objects
    // are allocated with: a fifth of the cost of an edge (callgrind).
    guard let memory = unsafe Memory.allocate(MemoryLayout<DependencyEdge>.size) else {
      trap("There is no memory left for a dependency.")
    }
    let edge = unsafe memory.bindMemory(to: DependencyEdge.self, capacity: 1)
    unsafe edge.initialize(
      to: DependencyEdge(
        dependency: .passRetained(dependency),
        dependent: .passUnretained(dependent)
      )
    )
    return unsafe edge
  }

  /// Frees the node and gives back the reference that it held, to be released outside of any lock.
  static func destroy(_ edge: Pointer) -> Operation {
    let dependency = unsafe edge.pointee.dependency.takeRetainedValue()
    unsafe edge.deinitialize(count: 1)
    unsafe Memory.free(edge)
    return dependency
  }
}

/// The dependents of an operation, in the order in which they began to wait.
@safe
struct DependentList {
  private var head: DependencyEdge.Pointer?

  init() {}

  var isEmpty: Bool { unsafe head == nil }

  mutating func link(_ edge: DependencyEdge.Pointer) {
    unsafe edge.pointee.nextDependent = nil
    if let head = unsafe head {
      let tail = unsafe head.pointee.previousDependent
      unsafe edge.pointee.previousDependent = tail
      unsafe tail?.pointee.nextDependent = edge
      unsafe head.pointee.previousDependent = edge
    } else {
      unsafe edge.pointee.previousDependent = edge
      unsafe head = edge
    }
  }

  /// Takes an edge out and says whether it was still in.
  mutating func unlink(_ edge: DependencyEdge.Pointer) -> Bool {
    guard let previous = unsafe edge.pointee.previousDependent else { return false }
    let next = unsafe edge.pointee.nextDependent
    // The last one is what the first one has as its previous.
    unsafe (next ?? head)?.pointee.previousDependent = previous
    if unsafe head == edge {
      unsafe head = next
    } else {
      unsafe previous.pointee.nextDependent = next
    }
    unsafe edge.pointee.previousDependent = nil
    return true
  }

  /// Takes all edges out, and calls `body` with each dependent in order, not retained.
  @inline(__always)
  mutating func takeAll(_ body: (Unmanaged<Operation>) -> Void) {
    var next = unsafe head
    while let edge = unsafe next {
      unsafe next = edge.pointee.nextDependent
      unsafe edge.pointee.previousDependent = nil
      unsafe body(edge.pointee.dependent)
    }
    unsafe head = nil
  }
}

/// What an operation waits for or has waited for; the last one that was added is the first.
@safe
struct DependencyList {
  /// Where an edge of a long list is.
  @unsafe private struct Place {
    let edge: DependencyEdge.Pointer
    /// The one that was added after it; nil for the last one.
    var later: DependencyEdge.Pointer?
  }

  private var head: DependencyEdge.Pointer?
  /// Made once scanning would cost more than looking up.
  private var index: [ObjectIdentifier: Place]?
  private static let scanLimit = 12

  init() {}

  var isEmpty: Bool { unsafe head == nil }

  /// In the order of adding.
  var operations: [Operation] { latest(.max) }

  /// Those that were added last, in the order of adding.
  func latest(_ count: Int) -> [Operation] {
    var operations: [Operation] = []
    var next = unsafe head
    while operations.count < count, let edge = unsafe next {
      operations.append(unsafe edge.pointee.dependency.takeUnretainedValue())
      unsafe next = edge.pointee.nextDependency
    }
    operations.reverse()
    return operations
  }

  /// From the last one that was added to the first.
  func forEach(_ body: (DependencyEdge.Pointer) -> Void) {
    var next = unsafe head
    while let edge = unsafe next {
      unsafe next = edge.pointee.nextDependency
      unsafe body(edge)
    }
  }

  func edge(to dependency: Operation) -> DependencyEdge.Pointer? {
    if let index = unsafe index { return unsafe index[ObjectIdentifier(dependency)]?.edge }
    var next = unsafe head
    while let edge = unsafe next {
      let isSame = unsafe edge.pointee.dependency._withUnsafeGuaranteedRef { $0 === dependency }
      if isSame { return unsafe edge }
      unsafe next = edge.pointee.nextDependency
    }
    return nil
  }

  mutating func append(_ edge: DependencyEdge.Pointer) {
    let former = unsafe head
    unsafe edge.pointee.nextDependency = former
    unsafe head = edge
    if unsafe index != nil {
      unsafe index?[Self.key(edge)] = Place(edge: edge)
      if let former = unsafe former { unsafe index?[Self.key(former)]?.later = edge }
    } else if isLong {
      unsafe index = makeIndex()
    }
  }

  /// Whether there are too many to be scanned.
  private var isLong: Bool {
    var count = 0
    var next = unsafe head
    while let edge = unsafe next, count <= Self.scanLimit {
      count += 1
      unsafe next = edge.pointee.nextDependency
    }
    return count > Self.scanLimit
  }

  private func makeIndex() -> [ObjectIdentifier: Place] {
    var index: [ObjectIdentifier: Place] = unsafe [:]
    var later: DependencyEdge.Pointer?
    unsafe forEach { edge in
      unsafe index[Self.key(edge)] = Place(edge: edge, later: later)
      unsafe later = edge
    }
    return unsafe index
  }

  mutating func remove(_ edge: DependencyEdge.Pointer) {
    let former = unsafe edge.pointee.nextDependency
    let later = unsafe later(than: edge)
    if let later = unsafe later {
      unsafe later.pointee.nextDependency = former
    } else {
      unsafe head = former
    }
    guard unsafe index != nil else { return }
    unsafe index?[Self.key(edge)] = nil
    if let former = unsafe former { unsafe index?[Self.key(former)]?.later = later }
  }

  private func later(than edge: DependencyEdge.Pointer) -> DependencyEdge.Pointer? {
    if let index = unsafe index { return unsafe index[Self.key(edge)]?.later }
    var later: DependencyEdge.Pointer?
    var next = unsafe head
    while let candidate = unsafe next, unsafe candidate != edge {
      unsafe later = candidate
      unsafe next = candidate.pointee.nextDependency
    }
    return unsafe later
  }

  /// Takes the first edge, without keeping the index; for teardown only.
  mutating func popForTeardown() -> DependencyEdge.Pointer? {
    guard let edge = unsafe head else { return nil }
    unsafe head = edge.pointee.nextDependency
    return unsafe edge
  }

  /// Puts the edges of another list before these; for teardown only.
  mutating func prependForTeardown(_ other: DependencyList) {
    guard var last = unsafe other.head else { return }
    while let next = unsafe last.pointee.nextDependency { unsafe last = next }
    unsafe last.pointee.nextDependency = head
    unsafe head = other.head
  }

  private static func key(_ edge: DependencyEdge.Pointer) -> ObjectIdentifier {
    unsafe edge.pointee.dependency._withUnsafeGuaranteedRef { ObjectIdentifier($0) }
  }
}

/// Releases the dependencies of dying operations without recursion.
///
/// Releasing a chain of a million operations would otherwise nest a million deinitialisers. The
/// first dying operation of a thread works through a list; those that die because of it add theirs.
enum DependencyTeardown {
  /// Of the list that a thread is working through.
  private static let current = ThreadSlot()

  /// Lets go of all that a dying operation depends on.
  ///
  /// - Parameters:
  ///   - edges: What it depends on.
  ///   - areOpen: Whether some may still be linked. If none is, all dependencies were done with
  ///     their edges before they counted as finished, and no lock is needed.
  /// - Complexity: O(n), n the number of edges that go, with constant stack depth.
  static func release(_ edges: DependencyList, areOpen: Bool) {
    if areOpen {
      unsafe edges.forEach { edge in
        unsafe edge.pointee.dependency._withUnsafeGuaranteedRef { dependency in
          _ = dependency.withLinks { unsafe $0.dependents.unlink(edge) }
        }
      }
    }
    if let outer = unsafe current.pointer {
      unsafe outer.assumingMemoryBound(to: DependencyList.self).pointee.prependForTeardown(edges)
      return
    }
    var edges = edges
    unsafe withUnsafeMutablePointer(to: &edges) { edges in
      unsafe current.pointer = UnsafeMutableRawPointer(edges)
      while let edge = unsafe edges.pointee.popForTeardown() {
        _ = unsafe DependencyEdge.destroy(edge)
      }
      unsafe current.pointer = nil
    }
  }
}
