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
