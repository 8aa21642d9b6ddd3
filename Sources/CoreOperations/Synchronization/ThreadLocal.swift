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
package struct ThreadLocal<Object: AnyObject>: @unchecked Sendable {
  // Sendable: a key is an immutable number; the slot behind it belongs to the calling thread.
  private let key: pthread_key_t

  package init() {
    var key = pthread_key_t()
    guard unsafe pthread_key_create(&key, nil) == 0 else {
      trap("The process has used up its thread-local keys (pthread_key_create failed).")
    }
    self.key = key
  }

  package var value: Object? {
    get {
      guard let pointer = unsafe pthread_getspecific(key) else { return nil }
      return unsafe Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
    }
    nonmutating set {
      let pointer = unsafe newValue.map {
        unsafe UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque())
      }
      unsafe pthread_setspecific(key, pointer)
    }
  }
}
