import CoreOperations

/// The callbacks that a thread is in, and the depth of calls that follow from each other: a child's
/// end that ends its group, a cancel that cancels children, an observer that finishes the next
/// operation.
///
/// Programs decide how deep that gets, and a stack has an end. Beyond a bound, the executor takes
/// over, on another stack.
///
/// For the thread that has asked for it, while the call that asked goes on.
@safe
package struct CallContext {
  /// A level takes some kilobytes of the stack in debug builds, and there are stacks of 512 KiB.
  static let limit = 24

  @safe
  private struct State: BitwiseCopyable, Sendable {
    var depth = 0
    var notified = Notified.none
  }

  private static let all = ThreadValue(State())

  private let state: UnsafeMutablePointer<State>

  /// The context of this thread.
  static var current: CallContext { CallContext() }

  private init() { unsafe state = Self.all.pointer }

  /// Whether the next call has to be made on another stack.
  var isUsedUp: Bool { unsafe state.pointee.depth >= Self.limit }

  /// Counts as one level until ``leave()``.
  func enter() { unsafe state.pointee.depth += 1 }
  func leave() { unsafe state.pointee.depth -= 1 }

  /// The operation whose callback the thread is in, the innermost one.
  var notified: Notified {
    get { unsafe state.pointee.notified }
    nonmutating set { unsafe state.pointee.notified = newValue }
  }

  /// The operation whose callbacks a thread calls; none outside of callbacks.
  ///
  /// Kept alive by the delivery, and not counted by this: each count would be two atomic
  /// instructions.
  @safe
  package struct Notified: BitwiseCopyable, @unchecked Sendable {
    // Sendable: the reference never changes, and is followed by the delivering thread alone.

    private let reference: Unmanaged<AdvancedOperation>?

    package static let none = unsafe Notified(reference: nil)

    private init(reference: Unmanaged<AdvancedOperation>?) { unsafe self.reference = reference }

    init(_ operation: AdvancedOperation) {
      unsafe self.init(reference: .passUnretained(operation))
    }

    var operation: AdvancedOperation? { unsafe reference?.takeUnretainedValue() }
  }
}

extension AdvancedOperation {
  /// Does what follows from something that has happened to the operation, here or on another stack.
  final func follow(_ body: @escaping @Sendable () -> Void) {
    let context = CallContext.current
    if context.isUsedUp { return environment.enqueue(body) }
    context.enter()
    body()
    context.leave()
  }

  /// Notifies observers of properties, if there are any, who may call what notifies others.
  final func propertiesMayHaveChanged() {
    if wasObserved { follow { self.valuesMayHaveChanged() } }
  }
}
