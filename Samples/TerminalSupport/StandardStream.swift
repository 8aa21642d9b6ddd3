package import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Standard output or standard error, and what there is behind it.
package struct StandardStream: Sendable {
  /// Results, and nothing else.
  package static let output = StandardStream(descriptor: STDOUT_FILENO)

  /// Progress, notices and errors.
  package static let error = StandardStream(descriptor: STDERR_FILENO)

  /// The width where there is no terminal to ask.
  package static let usualWidth = 80

  private let descriptor: Int32

  /// Opens those of the three standard streams that the program was started without.
  ///
  /// To be called before any file is opened: the first one would take the number of standard output,
  /// and get what is written to that.
  package static func openMissing() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // Takes the lowest number that is free, which is this one.
      _ = open("/dev/null", O_RDWR)
    }
  }

  /// Whether somebody is looking at it.
  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Whether the terminal is this program's to draw on, and not the shell's, as after `bg`.
  package var isInForeground: Bool {
    let group = tcgetpgrp(descriptor)
    // Of another session's terminal nothing is known.
    return group < 0 || group == getpgrp()
  }

  /// Whether a few characters can be written without waiting for a reader.
  package var hasRoom: Bool {
    var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&room, 1, 0) == 1
  }

  /// Whether there is somebody who could read what is written.
  package var hasReader: Bool {
    var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = poll(&room, 1, 0)
    return room.revents & Int16(POLLERR | POLLNVAL) == 0
  }

  /// Whether a line on it can be written over.
  package func canRewriteLines(_ environment: [String: String]) -> Bool {
    isTerminal && environment["TERM"] != "dumb"
  }

  /// Whether to write in colour.
  package func hasColour(_ environment: [String: String]) -> Bool {
    Self.hasColour(isTerminal: isTerminal, environment)
  }

  /// Whether to write in colour: on terminals that can, unless the user doesn't want it.
  ///
  /// See <https://no-color.org>, where an empty value means nothing.
  package static func hasColour(isTerminal: Bool, _ environment: [String: String]) -> Bool {
    isTerminal && environment["TERM"] != "dumb" && (environment["NO_COLOR"] ?? "").isEmpty
  }

  /// The columns of the terminal, or what the environment says.
  package func width(_ environment: [String: String]) -> Int {
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
    return Self.width(terminal: isKnown ? Int(size.ws_col) : nil, environment)
  }

  /// The rows of the terminal, or what the environment says.
  package func height(_ environment: [String: String]) -> Int {
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
    if isKnown, size.ws_row > 0 { return Int(size.ws_row) }
    let rows = environment["LINES"].flatMap { Int($0) } ?? 0
    return rows > 0 ? rows : 24
  }

  /// The columns to write in: those of the terminal, where there is one that knows them.
  package static func width(terminal: Int?, _ environment: [String: String]) -> Int {
    if let terminal, terminal > 0 { return terminal }
    let columns = environment["COLUMNS"].flatMap { Int($0) } ?? 0
    return columns > 0 ? columns : usualWidth
  }

  /// Writes everything, unless nobody reads any more: that is their choice and no error.
  package func send(_ text: TerminalText) throws(StreamProblem) { try send(Data(text.text.utf8)) }

  /// Writes bytes as they are, unless nobody reads any more.
  package func send(_ data: Data) throws(StreamProblem) {
    var rest = data[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      let code = errno
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if code == EPIPE {
        return
      } else if code == EAGAIN {
        // Somebody else made the pipe non-blocking; waits until there is room.
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&room, 1, -1)
      } else if code != EINTR {
        throw StreamProblem(path: path, reason: String(cString: strerror(code)))
      }
    }
  }

  private var path: String { descriptor == STDOUT_FILENO ? "/dev/stdout" : "/dev/stderr" }
}

/// Why a stream can't be written.
package struct StreamProblem: Error, Hashable, CustomStringConvertible {
  /// What it is called.
  package var path: String
  /// What the system says.
  package var reason: String

  /// Creates a problem.
  package init(path: String, reason: String) {
    self.path = path
    self.reason = reason
  }

  /// A whole sentence.
  package var description: String { "The file \(path) cannot be written: \(reason)." }
}
