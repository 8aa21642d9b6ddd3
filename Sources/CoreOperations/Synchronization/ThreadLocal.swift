/// An unmanaged object reference for each thread.
///
/// The reference isn't retained: the code that sets it keeps the object alive until it is set back.
@usableFromInline
package struct ThreadLocal<Object: AnyObject>: Sendable {
  @usableFromInline let slot: ThreadSlot

  package init() { slot = ThreadSlot() }

  // The property is visible to the modules above, or each access there would look up metadata (callgrind).
  // For that, the type has to be usable from inline, too.
  @inlinable package var value: Object? {
    get {
      guard let reference = unsafe reference else { return nil }
      return unsafe reference.takeUnretainedValue()
    }
    nonmutating set {
      if let newValue {
        unsafe reference = .passUnretained(newValue)
      } else {
        unsafe reference = nil
      }
    }
  }

  /// The object of the calling thread without counting a reference, for objects that are kept alive anyway.
  @inlinable package var reference: Unmanaged<Object>? {
    get {
      guard let pointer = unsafe slot.pointer else { return nil }
      return unsafe Unmanaged<Object>.fromOpaque(pointer)
    }
    nonmutating set {
      if let newValue = unsafe newValue {
        unsafe slot.pointer = newValue.toOpaque()
      } else {
        unsafe slot.pointer = nil
      }
    }
  }
}

/// A number for each thread, 0 at first.
struct ThreadNumber: Sendable {
  private let slot = ThreadSlot()

  var value: Int {
    get { unsafe Int(bitPattern: slot.pointer) }
    nonmutating set { unsafe slot.pointer = UnsafeMutableRawPointer(bitPattern: newValue) }
  }
}

/// A value for each thread, in separate memory that is freed with the thread.
///
/// Code that changes the value several times in one call reads the pointer once, because accessing a slot
/// costs ten times as much as accessing memory (callgrind).
@usableFromInline
package struct ThreadValue<Value: BitwiseCopyable & Sendable>: Sendable {
  @usableFromInline let slot: ThreadSlot
  @usableFromInline let initial: Value

  package init(_ initial: Value) {
    slot = ThreadSlot(isFreed: true)
    self.initial = initial
  }

  /// The value of the calling thread, which only that thread may use until it ends.
  @inlinable package var pointer: UnsafeMutablePointer<Value> {
    if let pointer = unsafe slot.pointer {
      return unsafe pointer.assumingMemoryBound(to: Value.self)
    }
    let pointer = UnsafeMutablePointer<Value>.allocate(capacity: 1)
    unsafe pointer.initialize(to: initial)
    unsafe slot.pointer = UnsafeMutableRawPointer(pointer)
    return unsafe pointer
  }
}
