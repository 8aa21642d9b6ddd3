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

/// The variables that the process was started with.
package enum ProcessEnvironment {
  /// Whether a variable is set, and is neither empty nor 0.
  package static func isSet(_ name: String) -> Bool {
    #if canImport(Darwin)
    let value = unsafe Darwin.getenv(name)
    #elseif canImport(Musl)
    let value = unsafe Musl.getenv(name)
    #elseif canImport(Glibc)
    let value = unsafe Glibc.getenv(name)
    #elseif canImport(Android)
    let value = unsafe Android.getenv(name)
    #else
    #error("Add the system's getenv(_:) here.")
    #endif
    guard let value = unsafe value else { return false }
    let text = unsafe String(cString: value)
    return !text.isEmpty && text != "0"
  }
}
