import CoreOperations

/// The operation whose callbacks a thread is delivering.
///
/// Kept alive by that delivery, and not counted by this: each count would be two atomic
/// instructions.
@safe
struct Delivery {
  private static let slot = ThreadLocal<AdvancedOperation>()

  private let reference: Unmanaged<AdvancedOperation>?

  /// The innermost one of this thread.
  static var current: Delivery {
    get { unsafe Delivery(reference: slot.reference) }
    set { unsafe slot.reference = newValue.reference }
  }

  static let none = unsafe Delivery(reference: nil)

  private init(reference: Unmanaged<AdvancedOperation>?) { unsafe self.reference = reference }

  init(of operation: AdvancedOperation) {
    unsafe self.init(reference: .passUnretained(operation))
  }

  var operation: AdvancedOperation? { unsafe reference?.takeUnretainedValue() }
}
