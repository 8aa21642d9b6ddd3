#if os(Linux)
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// A pseudo-terminal, and what has been written to it.
final class PseudoTerminal {
  private let controller: FileHandle
  let terminal: FileHandle
  private(set) var written = ""
  private let size: (width: Int, height: Int)

  init(width: Int = 80, height: Int = 24) throws {
    size = (width, height)
    let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(descriptor >= 0)
    // TIOCSPTLCK and TIOCGPTN, which Swift doesn't import.
    var (lock, number): (Int32, Int32) = (0, 0)
    try #require(ioctl(descriptor, 0x4004_5431, &lock) == 0)
    try #require(ioctl(descriptor, 0x8004_5430, &number) == 0)
    let other = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(other >= 0)
    var window = winsize()
    window.ws_col = UInt16(width)
    window.ws_row = UInt16(height)
    try #require(ioctl(descriptor, UInt(TIOCSWINSZ), &window) == 0)
    controller = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    terminal = FileHandle(fileDescriptor: other, closeOnDealloc: true)
  }

  /// Leaves the terminal to the programs that were started in it.
  func leave() { try? terminal.close() }

  /// Closes the window.
  func hangUp() throws { try controller.close() }

  /// Types something; `\u{3}` is Ctrl-C.
  func type(_ text: String) { controller.write(Data(text.utf8)) }

  /// Reads until the screen shows something, or all programs have closed the terminal.
  @discardableResult
  func wait(for text: String?) -> Screen {
    while true {
      let screen = screen
      if let text, screen.text.contains(text) { return screen }
      // A call in which a test waits can't be stopped.
      var ready = pollfd(fd: controller.fileDescriptor, events: Int16(POLLIN), revents: 0)
      if poll(&ready, 1, 120_000) == 0 {
        Issue.record("waited in vain for \(text ?? "the end") on the terminal: \(screen.text)")
        return screen
      }
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = read(controller.fileDescriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return screen }
      written += String(decoding: buffer[..<count], as: UTF8.self)
    }
  }

  /// What it shows.
  var screen: Screen {
    var screen = Screen(width: size.width, height: size.height)
    // A terminal makes CR LF of LF; the screen does so by itself.
    screen.write(written.replacing("\r\n", with: "\n"))
    return screen
  }
}

extension RunPlace {
  /// Starts the program as the one that Ctrl-C of the terminal reaches.
  ///
  /// Its number is in the file `runner`.
  func start(
    _ terminal: PseudoTerminal,
    _ arguments: [String],
    _ environment: [String: String] = ["TERM": "xterm"]
  ) throws -> Process {
    let script = #"echo $$ > runner; exec "$0" "$@""#
    return try start(terminal, script: script, arguments, environment)
  }

  /// Starts a shell in the terminal, with a script of which `$0` is the program.
  func start(
    _ terminal: PseudoTerminal,
    script: String,
    _ arguments: [String] = [],
    _ environment: [String: String] = ["TERM": "xterm"]
  ) throws -> Process {
    let process = try process([], environment)
    // Processes of Foundation have no controlling terminal; `setsid` gives them one.
    process.arguments =
      ["--ctty", "--wait", "/bin/sh", "-c", script, try RunPlace.program.path()] + arguments
    process.executableURL = URL(filePath: "/usr/bin/setsid")
    process.standardInput = terminal.terminal
    process.standardOutput = terminal.terminal
    process.standardError = terminal.terminal
    try process.run()
    terminal.leave()
    return process
  }
}
#endif
