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
@usableFromInline
package struct ThreadNumber: Sendable {
  @usableFromInline let slot: ThreadSlot

  package init() { slot = ThreadSlot() }

  @inlinable package var value: Int {
    get { unsafe Int(bitPattern: slot.pointer) }
    nonmutating set { unsafe slot.pointer = UnsafeMutableRawPointer(bitPattern: newValue) }
  }
}
