import Foundation
import Logging
import Synchronization

/// The fake payment provider as a child of this program, which ends with it.
///
/// One that ends before is started again, at the same port: without it no order goes on.
final class ChildProvider: Sendable {
  /// The provider didn't say where it is.
  struct NotStarted: Error, CustomStringConvertible {
    var program: String
    var description: String {
      "\(program) did not start; what it says is above. See --provider-port and --provider."
    }
  }

  private struct State {
    var process: Process?
    /// The child ends when the other end of its input is closed, also when this program is killed.
    var input: Pipe?
    var isStopped = false
  }

  /// Where it is.
  let url: String
  private let ledger: String
  private let state = Mutex(State())

  /// Starts the program that stands beside this one, and waits until it listens.
  ///
  /// - Parameters:
  ///   - port: Where it listens; 0 for any port that is free.
  ///   - ledger: The file that keeps what it has charged.
  /// - Throws: ``NotStarted``, or what the system says when there is no such program.
  init(port: Int, ledger: String) throws {
    self.ledger = ledger
    let (process, input) = Self.process(port: port, ledger: ledger)
    url = try Self.start(process)
    take(process, input)
  }

  /// Ends it.
  func stop() {
    let process = state.withLock { state in
      state.isStopped = true
      return state.process
    }
    process?.terminate()
  }

  private static func process(port: Int, ledger: String) -> (Process, Pipe) {
    let here = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    let own =
      FileManager.default.fileExists(atPath: "/proc/self/exe")
      ? here : URL(filePath: CommandLine.arguments[0])
    let (process, input) = (Process(), Pipe())
    process.executableURL = own.deletingLastPathComponent().appending(path: "payment-provider")
    process.arguments = ["--port", "\(port)", "--ledger", ledger, "--with-parent"]
    process.standardInput = input
    return (process, input)
  }

  /// Returns where it is, when it listens.
  private static func start(_ process: Process) throws -> String {
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let notStarted = NotStarted(program: process.executableURL?.lastPathComponent ?? "")
    var text = ""
    while !text.contains("\n") {
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { throw notStarted }
      text += String(decoding: data, as: UTF8.self)
    }
    guard let place = text.firstRange(of: "http://") else { throw notStarted }
    return String(text[place.lowerBound...].prefix { !$0.isWhitespace })
  }

  /// Keeps a child that listens, and has its end noticed; ends it when there is to be none any more.
  private func take(_ process: Process, _ input: Pipe) {
    let isStopped = state.withLock { state in
      (state.process, state.input) = (process, input)
      return state.isStopped
    }
    // `waitUntilExit()` would do as well, but for a whole processor: it asks again and again.
    process.terminationHandler = { [weak self] process in self?.ended(process) }
    // One that has ended before that calls nobody.
    if !process.isRunning { ended(process) }
    if isStopped { process.terminate() }
  }

  /// Has it started again, unless it was stopped; once for each that has ended.
  private func ended(_ process: Process) {
    let isOver = state.withLock { state in
      guard state.process === process else { return true }
      state.process = nil
      return state.isStopped
    }
    if isOver { return }
    let status = process.terminationStatus
    Thread.detachNewThread { [weak self] in self?.restart(after: status) }
  }

  /// Starts it until it listens, on a thread of its own.
  private func restart(after status: Int32) {
    while !state.withLock({ $0.isStopped }) {
      Logger(label: "orders").error(
        "The payment provider has ended with \(status); it is started again."
      )
      let (next, input) = Self.process(port: URL(string: url)?.port ?? 0, ledger: ledger)
      if (try? Self.start(next)) != nil {
        return take(next, input)
      }
      Thread.sleep(forTimeInterval: 1)
    }
  }
}
