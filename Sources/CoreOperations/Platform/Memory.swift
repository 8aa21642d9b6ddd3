#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// Memory from the system's allocator.
enum Memory {
  /// - Returns: Nil when there is none left.
  @inline(__always)
  static func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer? {
    unsafe malloc(byteCount)
  }

  @inline(__always)
  static func free(_ pointer: UnsafeMutableRawPointer) {
    #if canImport(Darwin)
    unsafe Darwin.free(pointer)
    #elseif canImport(Musl)
    unsafe Musl.free(pointer)
    #elseif canImport(Glibc)
    unsafe Glibc.free(pointer)
    #elseif canImport(Android)
    unsafe Android.free(pointer)
    #else
    #error("Add the system's free(_:) here.")
    #endif
  }
}
