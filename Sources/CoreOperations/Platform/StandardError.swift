#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// The stream for messages to the person who runs the program.
package enum StandardError {
  /// Writes a line, at once and without a buffer.
  package static func write(line: String) {
    var text = line + "\n"
    text.withUTF8 { bytes in
      #if canImport(Darwin)
      _ = unsafe Darwin.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
      #elseif canImport(Musl)
      _ = unsafe Musl.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
      #elseif canImport(Glibc)
      _ = unsafe Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
      #elseif canImport(Android)
      _ = unsafe Android.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
      #else
      #error("Add the system's write(_:_:_:) here.")
      #endif
    }
  }
}
