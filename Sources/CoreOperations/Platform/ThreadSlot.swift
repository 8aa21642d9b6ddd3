#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// The slot of one key.
@usableFromInline
struct ThreadSlot: @unchecked Sendable {
  // Sendable: a key is an immutable number; the slot behind it belongs to the calling thread.
  private let key: pthread_key_t

  /// - Parameter isFreed: Whether what a thread has in the slot when it ends is freed.
  init(isFreed: Bool = false) {
    var key = pthread_key_t()
    let error =
      if isFreed { unsafe pthread_key_create(&key) { unsafe free($0) } } else {
        unsafe pthread_key_create(&key, nil)
      }
    if error != 0 {
      trap("The process has used up its thread-local keys (pthread_key_create failed).")
    }
    self.key = key
  }

  @usableFromInline var pointer: UnsafeMutableRawPointer? {
    get { unsafe pthread_getspecific(key) }
    nonmutating set { unsafe pthread_setspecific(key, newValue) }
  }
}
