import Foundation
import Testing

/// A folder that lasts as long as the object, in which the program runs.
final class RunPlace {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "Workflow-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appending(path: name).path(percentEncoded: false) }

  /// Writes a file, and returns its name.
  @discardableResult
  func write(_ text: String, to name: String = "w.yml") throws -> String {
    try Data(text.utf8).write(to: url.appending(path: name))
    return name
  }

  func read(_ name: String) throws -> String {
    try String(contentsOfFile: path(name), encoding: .utf8)
  }

  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

  /// The names of the runs in this folder, in their order.
  var runs: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: path(".workflow/runs"))
        .filter { !$0.hasPrefix(".") }.sorted()
    }
  }

  /// The program, not yet running.
  func process(_ arguments: [String], _ environment: [String: String] = [:]) throws -> Process {
    let process = Process()
    process.executableURL = try Self.program
    process.arguments = arguments
    process.currentDirectoryURL = url
    let usual = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]
    process.environment = environment.merging(usual) { given, _ in given }
    process.standardInput = FileHandle.nullDevice
    return process
  }

  /// Runs the program to its end, into files, which never fill up.
  func run(_ arguments: String..., environment: [String: String] = [:]) throws -> ProgramEnd {
    try run(arguments, environment: environment)
  }

  /// Runs the program to its end.
  func run(_ arguments: [String], environment: [String: String] = [:]) throws -> ProgramEnd {
    let process = try process(arguments, environment)
    let names = ["output-\(UUID())", "errors-\(UUID())"]
    for name in names { try write("", to: name) }
    process.standardOutput = try FileHandle(forWritingTo: url.appending(path: names[0]))
    process.standardError = try FileHandle(forWritingTo: url.appending(path: names[1]))
    try process.run()
    process.waitUntilExit()
    defer { for name in names { try? FileManager.default.removeItem(atPath: path(name)) } }
    return ProgramEnd(
      status: process.terminationReason == .exit ? process.terminationStatus : -1,
      output: try read(names[0]),
      errors: try read(names[1])
    )
  }

  /// Where the build has put the program: beside the tests.
  static var program: URL {
    get throws {
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
      let tests = bundle ?? URL(filePath: CommandLine.arguments[0])
      let program = tests.deletingLastPathComponent().appending(path: "workflow")
      let isThere = FileManager.default.isExecutableFile(atPath: program.path())
      try #require(isThere, "There is no program at \(program.path()).")
      return program
    }
  }

  /// A file that ships with the sample.
  static func example(_ name: String) throws -> String {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Examples").standardizedFileURL
    return try String(contentsOf: folder.appending(path: name), encoding: .utf8)
  }
}

/// What came of a run of the program.
struct ProgramEnd {
  var status: Int32
  var output: String
  var errors: String
}
