#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// How much is tried: ordinarily so much as takes seconds, and more when `OPERATIONS_NIGHTLY` is
/// set.
enum Effort {
  static let isNightly = unsafe getenv("OPERATIONS_NIGHTLY") != nil

  static func scaled(_ ordinary: Int, nightly: Int) -> Int { isNightly ? nightly : ordinary }

  /// A number from the environment.
  static func number(_ name: String) -> Int? {
    guard let text = unsafe getenv(name) else { return nil }
    return unsafe Int(String(cString: text))
  }
}
