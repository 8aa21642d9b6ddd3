import CoreOperations

/// What a thread is in the middle of: whose callbacks it is delivering, and how deep it is in calls
/// that follow from each other: a child's end that ends its group, a cancel that cancels children,
/// an observer that finishes the next operation.
///
/// How far that goes is for programs to decide, and a stack has an end. What would follow beyond a
/// bound is done by the executor, on another stack.
///
/// For the thread that has asked for it, while the call that asked goes on.
@safe
struct CallContext {
  /// A level takes some kilobytes of the stack in debug builds, and there are stacks of 512 KiB.
  static let limit = 24

  @safe
  private struct State: BitwiseCopyable, Sendable {
    var depth = 0
    var delivery = Delivery.none
  }

  private static let all = ThreadValue(State())

  private let state: UnsafeMutablePointer<State>

  /// That of this thread.
  static var current: CallContext { CallContext() }

  private init() { unsafe state = Self.all.pointer }

  /// Whether what follows has to be done on another stack.
  var isUsedUp: Bool { unsafe state.pointee.depth >= Self.limit }

  /// Counts as one level until ``leave()``.
  func enter() { unsafe state.pointee.depth += 1 }
  func leave() { unsafe state.pointee.depth -= 1 }

  /// The innermost one of the thread.
  var delivery: Delivery {
    get { unsafe state.pointee.delivery }
    nonmutating set { unsafe state.pointee.delivery = newValue }
  }
}

/// The operation whose callbacks a thread is delivering.
///
/// Kept alive by that delivery, and not counted by this: each count would be two atomic
/// instructions.
@safe
struct Delivery: BitwiseCopyable, @unchecked Sendable {
  // Sendable: the reference never changes, and is followed by the delivering thread alone.

  private let reference: Unmanaged<AdvancedOperation>?

  static let none = unsafe Delivery(reference: nil)

  private init(reference: Unmanaged<AdvancedOperation>?) { unsafe self.reference = reference }

  init(of operation: AdvancedOperation) {
    unsafe self.init(reference: .passUnretained(operation))
  }

  var operation: AdvancedOperation? { unsafe reference?.takeUnretainedValue() }
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
