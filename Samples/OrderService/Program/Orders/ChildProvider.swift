import Foundation

/// The fake payment provider as a child of this program, which ends with it.
final class ChildProvider: Sendable {
  /// Where it is.
  let url: String
  private let process: Process
  /// The child ends when the other end of its input is closed, also when this program is killed.
  private let input: Pipe

  /// The provider didn't say where it is.
  struct NotStarted: Error, CustomStringConvertible {
    var program: String
    var description: String {
      "\(program) did not start; is its port in use? See --provider-port and --provider."
    }
  }

  /// Starts the program that stands beside this one, and waits until it listens.
  init(port: Int, ledger: String) throws {
    let here = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    let own =
      FileManager.default.fileExists(atPath: "/proc/self/exe")
      ? here : URL(filePath: CommandLine.arguments[0])
    let program = own.deletingLastPathComponent().appending(path: "payment-provider")
    process = Process()
    process.executableURL = program
    process.arguments = ["--port", "\(port)", "--ledger", ledger, "--with-parent"]
    let output = Pipe()
    input = Pipe()
    process.standardOutput = output
    process.standardInput = input
    try process.run()
    var text = ""
    while !text.contains("\n") {
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { throw NotStarted(program: program.lastPathComponent) }
      text += String(decoding: data, as: UTF8.self)
    }
    guard let place = text.firstRange(of: "http://") else {
      throw NotStarted(program: program.lastPathComponent)
    }
    url = String(text[place.lowerBound...].prefix { !$0.isWhitespace })
  }

  /// Ends it.
  func stop() { process.terminate() }
}
