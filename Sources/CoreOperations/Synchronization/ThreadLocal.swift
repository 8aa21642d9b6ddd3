#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One unmanaged object reference per thread.
///
/// The reference isn't retained: whoever sets it keeps the object alive until it is set back.
package struct ThreadLocal<Object: AnyObject>: Sendable {
  @usableFromInline let slot: ThreadSlot

  package init() { slot = ThreadSlot() }

  // Seen by the modules above, or each access there would look up metadata (callgrind).
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
package struct ThreadNumber: Sendable {
  @usableFromInline let slot: ThreadSlot

  package init() { slot = ThreadSlot() }

  @inlinable package var value: Int {
    get { unsafe Int(bitPattern: slot.pointer) }
    nonmutating set { unsafe slot.pointer = UnsafeMutableRawPointer(bitPattern: newValue) }
  }
}

/// The slot of one key.
@usableFromInline
struct ThreadSlot: @unchecked Sendable {
  // Sendable: a key is an immutable number; the slot behind it belongs to the calling thread.
  private let key: pthread_key_t

  init() {
    var key = pthread_key_t()
    guard unsafe pthread_key_create(&key, nil) == 0 else {
      trap("The process has used up its thread-local keys (pthread_key_create failed).")
    }
    self.key = key
  }

  @usableFromInline var pointer: UnsafeMutableRawPointer? {
    get { unsafe pthread_getspecific(key) }
    nonmutating set { unsafe pthread_setspecific(key, newValue) }
  }
}
