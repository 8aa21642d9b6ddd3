/// An operation as its queue hands it around: without counting a reference, which costs two atomic
/// instructions each time, and with what only the queue may see and change.
///
/// The only place of a queue with references that aren't counted. They are valid because
/// ``QueueMembers`` retains each operation from the moment it is a member, and because one that
/// leaves while a worker has it on its stack is released by the report of that worker.
@safe
package struct Member: Equatable, @unchecked Sendable {
  // Sendable: an operation is, and what it adds is only reached with the lock of the queue held.

  private let reference: Unmanaged<Operation>

  package init(_ operation: Operation) { unsafe reference = .passUnretained(operation) }

  /// The operation, counted.
  package var operation: Operation { unsafe reference.takeUnretainedValue() }

  /// Calls `body` with the operation, not counted.
  @inline(__always)
  func use<Result>(_ body: (Operation) -> Result) -> Result {
    unsafe reference._withUnsafeGuaranteedRef(body)
  }

  /// Calls `body` with each of several operations, in order, without counting references.
  ///
  /// The array holds them. Two walks over a batch that counted were a tenth of what a chain costs.
  static func forEach(in operations: [Operation], _ body: (Member) -> Void) {
    unsafe operations.withUnsafeBufferPointer { operations in
      unsafe operations.withMemoryRebound(to: Unmanaged<Operation>.self) { references in
        for index in references.indices { unsafe body(Member(references[index])) }
      }
    }
  }

  private init(_ reference: Unmanaged<Operation>) { unsafe self.reference = reference }

  /// What the queue knows of the operation.
  package var fields: SchedulingFields {
    @inline(__always) _read { yield unsafe reference._withUnsafeGuaranteedRef { $0 }.scheduling }
    @inline(__always) nonmutating _modify {
      yield unsafe &reference._withUnsafeGuaranteedRef { $0 }.scheduling
    }
  }

  package var placement: Placement { fields.placement }
  var progress: OperationReadiness.Progress { use { $0.readiness.current.progress } }
  var isCancelled: Bool { use { $0.isCancelledFlag } }
  var isLayered: Bool { use { $0.isLayered } }
  /// Whether everything is known of it, because nothing is overridden.
  var isKnown: Bool { use { $0.isKnown } }

  package static func == (a: Member, b: Member) -> Bool {
    unsafe a.reference.toOpaque() == b.reference.toOpaque()
  }

  /// One reference more, until ``released()``.
  func retained() -> Member {
    _ = unsafe reference.retain()
    return self
  }

  /// Takes over the reference of ``retained()``.
  func released() -> Operation { unsafe reference.takeRetainedValue() }
}

/// The links of a member to those beside it in a list.
struct MemberLinks {
  var next: Member?
  var previous: Member?
}
