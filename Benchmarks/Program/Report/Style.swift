import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Colours on terminals that can, unless the user doesn't want them.
struct Style: Sendable {
  private let hasColour: Bool

  init(hasColour: Bool) { self.hasColour = hasColour }

  /// See <https://no-color.org>.
  static var ofOutput: Style {
    let environment = ProcessInfo.processInfo.environment
    return Style(
      hasColour: isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb"
        && (environment["NO_COLOR"] ?? "").isEmpty
    )
  }

  func bold(_ text: String) -> String { coded(text, "1") }
  func faint(_ text: String) -> String { coded(text, "2") }
  func good(_ text: String) -> String { coded(text, "32") }
  func bad(_ text: String) -> String { coded(text, "31") }

  private func coded(_ text: String, _ code: String) -> String {
    hasColour ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
