/// The dependency of one operation on another, as a node in two lists.
///
/// The dependent owns the node and retains the dependency. The dependency references the dependent without
/// owning it. These locks guard the pointers:
/// - The neighbors among the dependents are accessed with the lock of the dependency's links held.
/// - The next node among the dependencies is accessed with the lock of the dependent's list of dependencies
///   held.
///
/// Adding and removing cost O(1) in both lists, and the order of adding is kept. A node has 40 bytes, which
/// malloc rounds up to 48.
@unsafe
struct DependencyEdge {
  typealias Pointer = UnsafeMutablePointer<DependencyEdge>

  /// The operation that has to finish first; retained.
  let dependency: Unmanaged<Operation>
  /// The operation that waits; not retained.
  ///
  /// An operation unlinks its edges before it leaves its queue and before it is deallocated. The operation
  /// does so with the lock held under which the dependency follows this reference.
  let dependent: Unmanaged<Operation>
  /// The next node among the dependents; nil for the last node.
  var nextDependent: Pointer?
  /// The previous node among the dependents.
  ///
  /// For the first node, it is the last node; nil for a node that isn't in a list.
  var previousDependent: Pointer?
  /// The node that was added before this node.
  var nextDependency: Pointer?

  static func make(dependent: Operation, dependency: Operation) -> Pointer {
    // The standard library allocates memory for pointers with an alignment function that is slower than the
    // function for objects. The slower function was a fifth of the cost of an edge (callgrind).
    guard let memory = unsafe Memory.allocate(MemoryLayout<DependencyEdge>.size) else {
      trap("The system has no memory left for a dependency. Give the process more memory.")
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

  /// Frees the node and returns the reference that it held, which the caller releases outside of any lock.
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

  /// Removes an edge, and returns whether it was still in the list.
  mutating func unlink(_ edge: DependencyEdge.Pointer) -> Bool {
    guard let previous = unsafe edge.pointee.previousDependent else { return false }
    let next = unsafe edge.pointee.nextDependent
    // The first edge stores the last edge as its previous edge.
    unsafe (next ?? head)?.pointee.previousDependent = previous
    if unsafe head == edge {
      unsafe head = next
    } else {
      unsafe previous.pointee.nextDependent = next
    }
    unsafe edge.pointee.previousDependent = nil
    return true
  }

  /// Removes all edges, and calls `body` with each dependent in order, not retained.
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

/// The operations that an operation waits for or has waited for; the last added operation is the first.
@safe
struct DependencyList {
  /// The position of an edge in a long list.
  @unsafe private struct Place {
    let edge: DependencyEdge.Pointer
    /// The edge that was added after this edge; nil for the last edge.
    var later: DependencyEdge.Pointer?
  }

  private var head: DependencyEdge.Pointer?
  /// An index of the edges, created once a scan would cost more than a lookup.
  private var index: [ObjectIdentifier: Place]?
  private static let scanLimit = 12

  init() {}

  var isEmpty: Bool { unsafe head == nil }

  /// The dependencies in the order of adding.
  var operations: [Operation] { latest(.max) }

  /// Returns the dependencies that were added last, in the order of adding.
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

  /// Calls a closure with each edge, from the last added edge to the first.
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

  /// A Boolean value that indicates whether the list is too long to be scanned.
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

  /// Removes the first edge without updating the index; for teardown only.
  mutating func popForTeardown() -> DependencyEdge.Pointer? {
    guard let edge = unsafe head else { return nil }
    unsafe head = edge.pointee.nextDependency
    return unsafe edge
  }

  /// Inserts the edges of another list before these edges; for teardown only.
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

/// Releases the dependencies of operations that are deallocated, without recursion.
///
/// Releasing a chain of a million operations would otherwise nest a million deinitializers. The first
/// operation that is deallocated on a thread works through a list. Operations that are deallocated because of
/// it add their dependencies to that list.
enum DependencyTeardown {
  /// A pointer to the list that a thread is working through.
  private static let current = ThreadSlot()

  /// Releases the dependencies of an operation that is being deallocated.
  ///
  /// - Parameters:
  ///   - edges: The dependencies of the operation.
  ///   - areOpen: A Boolean value that indicates whether some edges may still be linked. If none is linked,
  ///     all dependencies were done with their edges before they counted as finished, and no lock is needed.
  /// - Complexity: O(n), n the number of released edges, with constant stack depth.
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
