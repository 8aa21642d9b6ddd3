public import Foundation
import TerminalSupport

/// Why a download failed, and what to do about it.
public enum DownloadError: Error, Sendable, Hashable {
  /// The address is none that can be downloaded from.
  case unsupported(url: URL)

  /// The server cannot be reached, or the connection broke; `reason` is the system's.
  case noConnection(url: URL, reason: String)

  /// The download was not complete in time.
  case timedOut(url: URL, after: Duration)

  /// The server answered, but not with the file; `code` is its HTTP status.
  case status(url: URL, code: Int)

  /// The file has more bytes than it may have.
  case tooLarge(url: URL, maximum: Int64)

  /// The bytes can't be written to a temporary file; `reason` is the system's.
  case cannotKeep(url: URL, reason: String)
}

extension DownloadError {
  /// Whether another attempt may succeed.
  public var mayPass: Bool {
    switch self {
    case .noConnection, .timedOut: true
    // A request that took too long, too many requests, and trouble of the server.
    case .status(_, let code): code == 408 || code == 429 || code >= 500
    case .unsupported, .tooLarge, .cannotKeep: false
    }
  }
}

extension DownloadError: CustomStringConvertible {
  /// Whole sentences that say what went wrong where, and what to do.
  public var description: String {
    switch self {
    case .unsupported(let url):
      "“\(url.absoluteString)” cannot be downloaded. Give an address that begins with https:// or "
        + "http:// and names a server."
    case .noConnection(let url, let reason):
      "There is no connection to \(url.absoluteString): \(Self.clause(reason)). Check the network "
        + "and the address, or import a file instead."
    case .timedOut(let url, let timeout):
      "\(url.absoluteString) was not downloaded within \(Self.seconds(timeout)). Try again with "
        + "more time, or import a file instead."
    case .status(let url, let code):
      "The server did not send \(url.absoluteString): \(Self.meaning(of: code)) (HTTP status "
        + "\(code)). \(Self.remedy(for: code))"
    case .tooLarge(let url, let maximum):
      "\(url.absoluteString) has more than \(Int(maximum).counted("byte")), and was not downloaded to its "
        + "end. If it is the right one, allow a larger size with --max-size."
    case .cannotKeep(let url, let reason):
      "\(url.absoluteString) cannot be kept in a temporary file: \(Self.clause(reason)). Free some space "
        + "there, or set TMPDIR to another folder."
    }
  }

  private static func clause(_ reason: String) -> String {
    let reason = reason.trimmingCharacters(in: .whitespacesAndNewlines)
    return reason.hasSuffix(".") ? String(reason.dropLast()) : reason
  }

  private static func seconds(_ duration: Duration) -> String {
    let milliseconds = (duration / .milliseconds(1)).rounded()
    return "\((milliseconds / 1_000).short) \(milliseconds == 1_000 ? "second" : "seconds")"
  }

  private static func meaning(of code: Int) -> String {
    switch code {
    case 404, 410: "it has no such file"
    case 401, 403: "it refuses access"
    case 429: "it received too many requests"
    case 500...: "it has an internal error"
    default: "it sent an unexpected answer"
    }
  }

  private static func remedy(for code: Int) -> String {
    switch code {
    case 429, 500...: "Try again later."
    default: "Check the address."
    }
  }
}

extension DownloadError: LocalizedError {
  /// The same sentences as `description`.
  public var errorDescription: String? { description }
}
