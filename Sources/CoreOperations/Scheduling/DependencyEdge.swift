/// One operation waiting for another: a node in two lists at once.
///
/// The dependent owns the node and holds the dependency strongly; the dependency knows the
/// dependent without owning it. Who may touch what:
/// - `isLinked` and the neighbours among the dependents: with the dependency's `links` held;
/// - the neighbours among the dependencies: with the dependent's `dependencyList` held.
///
/// Both ways of adding and removing cost O(1), and the order of adding is kept.
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
  var isLinked = false
  var nextDependent: Pointer?
  var previousDependent: Pointer?
  var nextDependency: Pointer?
  var previousDependency: Pointer?

  static func make(dependent: Operation, dependency: Operation) -> Pointer {
    let edge = Pointer.allocate(capacity: 1)
    unsafe edge.initialize(
      to: DependencyEdge(
        dependency: .passRetained(dependency),
        dependent: .passUnretained(dependent)
      )
    )
    return unsafe edge
  }

  /// Frees the node and gives back the reference that it held, to be released outside of any lock.
  static func free(_ edge: Pointer) -> Operation {
    let dependency = unsafe edge.pointee.dependency.takeRetainedValue()
    unsafe edge.deinitialize(count: 1)
    unsafe edge.deallocate()
    return dependency
  }
}

/// Those who wait for an operation, in the order in which they began to.
@safe
struct DependentList {
  private var head: DependencyEdge.Pointer?
  private var tail: DependencyEdge.Pointer?

  init() {}

  var isEmpty: Bool { unsafe head == nil }

  mutating func link(_ edge: DependencyEdge.Pointer) {
    unsafe edge.pointee.isLinked = true
    unsafe edge.pointee.previousDependent = tail
    unsafe edge.pointee.nextDependent = nil
    if let tail = unsafe tail {
      unsafe tail.pointee.nextDependent = edge
    } else {
      unsafe head = edge
    }
    unsafe tail = edge
  }

  /// Takes an edge out and says whether it was still in.
  mutating func unlink(_ edge: DependencyEdge.Pointer) -> Bool {
    guard unsafe edge.pointee.isLinked else { return false }
    unsafe edge.pointee.isLinked = false
    let next = unsafe edge.pointee.nextDependent
    let previous = unsafe edge.pointee.previousDependent
    if let next = unsafe next {
      unsafe next.pointee.previousDependent = previous
    } else {
      unsafe tail = previous
    }
    if let previous = unsafe previous {
      unsafe previous.pointee.nextDependent = next
    } else {
      unsafe head = next
    }
    return true
  }

  /// The dependents that were told, retained.
  struct Told {
    /// Those that have nothing else to wait for.
    var ready = FewOperations()
    /// The others; to be released without the lock that was held.
    var waiting: [Operation] = []
  }

  /// Tells every dependent that this dependency is resolved.
  ///
  /// Called with the lock of the list held, which keeps the dependents alive until they are retained:
  /// one that a queue has let in can't leave it with an open dependency before it unlinked itself,
  /// under this lock. It is retained before it is told, because it may start, finish and be released
  /// by everybody else at once. One that is in no queue may be dying, and waiting for this lock to
  /// unlink itself: it is counted, and not retained.
  ///
  /// - Returns: What has to outlive the lock.
  /// - Complexity: O(n), n the number of dependents.
  mutating func resolveAll() -> Told {
    var told = Told()
    var next = unsafe head
    while let edge = unsafe next {
      unsafe next = edge.pointee.nextDependent
      unsafe edge.pointee.isLinked = false
      unsafe edge.pointee.dependent._withUnsafeGuaranteedRef { dependent in
        if dependent.readiness.step({ $0.dependencyResolvedOutside() }) { return }
        told.ready.append(dependent)
        guard dependent.readiness.step({ $0.dependencyResolved() }) == .none else { return }
        if let last = told.ready.popLast() { told.waiting.append(last) }
      }
    }
    unsafe head = nil
    unsafe tail = nil
    return told
  }
}

/// What an operation waits for or has waited for, in the order of adding.
@safe
struct DependencyList {
  private var head: DependencyEdge.Pointer?
  private var tail: DependencyEdge.Pointer?
  // No count: these eight bytes decided which of malloc's sizes a `BlockOperation` takes.
  /// Made once scanning would cost more than looking up.
  private var index: [ObjectIdentifier: DependencyEdge.Pointer]?
  private static let scanLimit = 12

  init() {}

  var isEmpty: Bool { unsafe head == nil }

  var operations: [Operation] {
    var operations: [Operation] = []
    unsafe forEach { edge in operations.append(unsafe edge.pointee.dependency.takeUnretainedValue())
    }
    return operations
  }

  func forEach(_ body: (DependencyEdge.Pointer) -> Void) {
    var next = unsafe head
    while let edge = unsafe next {
      unsafe next = edge.pointee.nextDependency
      unsafe body(edge)
    }
  }

  func edge(to dependency: Operation) -> DependencyEdge.Pointer? {
    if let index = unsafe index { return unsafe index[ObjectIdentifier(dependency)] }
    var next = unsafe head
    while let edge = unsafe next {
      let isSame = unsafe edge.pointee.dependency._withUnsafeGuaranteedRef { $0 === dependency }
      if isSame { return unsafe edge }
      unsafe next = edge.pointee.nextDependency
    }
    return nil
  }

  mutating func append(_ edge: DependencyEdge.Pointer) {
    unsafe edge.pointee.previousDependency = tail
    if let tail = unsafe tail {
      unsafe tail.pointee.nextDependency = edge
    } else {
      unsafe head = edge
    }
    unsafe tail = edge
    if unsafe index != nil {
      unsafe index?[Self.key(edge)] = edge
    } else if isLong {
      var built: [ObjectIdentifier: DependencyEdge.Pointer] = unsafe [:]
      unsafe forEach { edge in unsafe built[Self.key(edge)] = edge }
      unsafe index = built
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

  mutating func remove(_ edge: DependencyEdge.Pointer) {
    let next = unsafe edge.pointee.nextDependency
    let previous = unsafe edge.pointee.previousDependency
    if let next = unsafe next {
      unsafe next.pointee.previousDependency = previous
    } else {
      unsafe tail = previous
    }
    if let previous = unsafe previous {
      unsafe previous.pointee.nextDependency = next
    } else {
      unsafe head = next
    }
    unsafe index?[Self.key(edge)] = nil
  }

  /// Takes all edges; the list is empty afterwards.
  mutating func takeAll() -> DependencyList {
    let all = self
    self = DependencyList()
    return all
  }

  /// Takes the first edge, without keeping the index; for teardown only.
  mutating func popForTeardown() -> DependencyEdge.Pointer? {
    guard let edge = unsafe head else { return nil }
    unsafe head = edge.pointee.nextDependency
    return unsafe edge
  }

  /// Puts the edges of another list before these; for teardown only.
  mutating func prependForTeardown(_ other: DependencyList) {
    guard let otherTail = unsafe other.tail else { return }
    unsafe otherTail.pointee.nextDependency = head
    if unsafe head == nil { unsafe tail = otherTail }
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
  private final class Work {
    var edges: DependencyList
    init(_ edges: DependencyList) { self.edges = edges }
  }

  private static let current = ThreadLocal<Work>()

  /// - Complexity: O(n), n the number of edges that go, with constant stack depth.
  static func release(_ edges: DependencyList) {
    if let work = current.value {
      work.edges.prependForTeardown(edges)
      return
    }
    let work = Work(edges)
    current.value = work
    while let edge = unsafe work.edges.popForTeardown() {
      unsafe edge.pointee.dependency._withUnsafeGuaranteedRef { dependency in
        _ = dependency.links.withLock { unsafe $0.dependents.unlink(edge) }
      }
      _ = unsafe DependencyEdge.free(edge)
    }
    current.value = nil
  }
}
