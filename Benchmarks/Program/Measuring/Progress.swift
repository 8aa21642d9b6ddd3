import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Tells on standard error what is being measured, if somebody is looking.
struct Progress: Sendable {
  private let isShown: Bool

  init(isQuiet: Bool) {
    isShown =
      !isQuiet && isatty(STDERR_FILENO) == 1
      && ProcessInfo.processInfo.environment["TERM"] != "dumb"
  }

  /// Writes over the line that was shown before.
  func show(_ text: String) {
    if isShown { FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8)) }
  }

  func clear() { show("") }
}
