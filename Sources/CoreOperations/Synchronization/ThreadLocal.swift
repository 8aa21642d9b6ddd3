/// One unmanaged object reference per thread.
///
/// The reference isn't retained: the code that sets it keeps the object alive until it is set back.
@usableFromInline
package struct ThreadLocal<Object: AnyObject>: Sendable {
  @usableFromInline let slot: ThreadSlot

  package init() { slot = ThreadSlot() }

  // Seen by the modules above, or each access there would look up metadata (callgrind); for that,
  // the type has to be usable from inline, too.
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

  /// The same without counting a reference, for what is kept alive anyway.
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

/// One number per thread, 0 at first.
struct ThreadNumber: Sendable {
  private let slot = ThreadSlot()

  var value: Int {
    get { unsafe Int(bitPattern: slot.pointer) }
    nonmutating set { unsafe slot.pointer = UnsafeMutableRawPointer(bitPattern: newValue) }
  }
}

/// One value per thread, in memory of its own that is freed with the thread.
///
/// What changes several times in one call takes the pointer once: to change a slot costs ten times
/// as much as to change memory (callgrind).
@usableFromInline
package struct ThreadValue<Value: BitwiseCopyable & Sendable>: Sendable {
  @usableFromInline let slot: ThreadSlot
  @usableFromInline let initial: Value

  package init(_ initial: Value) {
    slot = ThreadSlot(isFreed: true)
    self.initial = initial
  }

  /// That of the calling thread, which alone may use it, and only until it ends.
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
