import Foundation
import Synchronization

/// A program of this package, as a process of its own.
final class RunningProgram: Sendable {
  /// The program ended without the line.
  struct NoSuchLine: Error {
    var text: String
    var output: [String]
  }

  private struct State {
    var lines: [String] = []
    var isAtEnd = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private final class Here {}

  private let process = Process()
  private let state = Mutex(State())
  private let ended: AsyncStream<Int32>

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - name: The program, which stands beside the tests.
  ///   - arguments: What it is called with.
  ///   - input: Its input; none unless given.
  ///   - openFiles: The number of files that it may open; nil for that of the tests.
  /// - Throws: What the system says when there is no such program.
  init(_ name: String, _ arguments: [String], input: Pipe? = nil, openFiles: Int? = nil) throws {
    let own = URL(filePath: "/proc/self/exe")
    let tests =
      FileManager.default.fileExists(atPath: own.path)
      ? own.resolvingSymlinksInPath() : Bundle(for: Here.self).bundleURL
    let program = tests.deletingLastPathComponent().appending(path: name)
    if let openFiles {
      process.executableURL = URL(filePath: "/bin/sh")
      let script = "ulimit -n \(openFiles) && exec \"$0\" \"$@\""
      process.arguments = ["-c", script, program.path] + arguments
    } else {
      process.executableURL = program
      process.arguments = arguments
    }
    process.standardInput = input ?? FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    let (ended, continuation) = AsyncStream<Int32>.makeStream()
    self.ended = ended
    process.terminationHandler = { process in
      continuation.yield(process.terminationStatus)
      continuation.finish()
    }
    try process.run()
    Thread.detachNewThread { [self] in read(output.fileHandleForReading) }
  }

  var processIdentifier: Int32 { process.processIdentifier }

  private func read(_ output: FileHandle) {
    var rest = Data()
    while true {
      let data = output.availableData
      rest += data
      var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      rest = Data(lines.removeLast())
      let waiting = state.withLock { state in
        state.lines += lines.map { String(decoding: $0, as: UTF8.self) }
        state.isAtEnd = data.isEmpty
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
      if data.isEmpty { return }
    }
  }

  /// All lines of its output and its errors until now.
  var output: [String] { state.withLock { $0.lines } }

  /// Waits for a line of its output.
  ///
  /// - Parameter text: What is in the line.
  /// - Returns: The first such line.
  /// - Throws: ``NoSuchLine`` when the output ends without one.
  func line(with text: String) async throws -> String {
    while true {
      let (lines, isAtEnd) = state.withLock { ($0.lines, $0.isAtEnd) }
      if let line = lines.first(where: { $0.contains(text) }) { return line }
      if isAtEnd { throw NoSuchLine(text: text, output: lines) }
      await withCheckedContinuation { continuation in
        let isLate = state.withLock { state in
          if state.lines.count == lines.count, !state.isAtEnd {
            state.waiting.append(continuation)
            return false
          }
          return true
        }
        if isLate { continuation.resume() }
      }
    }
  }

  /// Waits for the line that names its address, and returns that.
  func address(after text: String) async throws -> String {
    let line = try await line(with: text)
    guard let place = line.firstRange(of: "http://") else {
      throw NoSuchLine(text: "http://", output: [line])
    }
    return String(line[place.lowerBound...].prefix { !$0.isWhitespace })
  }

  /// Waits until its output has ended: that of its children too, which have ended then.
  func untilAllHaveEnded() async {
    _ = try? await line(with: "\0")
  }

  /// Sends it a signal.
  func signal(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Waits until it has ended, and returns its status.
  func status() async -> Int32 {
    for await status in ended { return status }
    return process.terminationStatus
  }
}
