import EarthquakeKit
import Foundation
import Testing

/// The built program, run to its end as people run it.
struct ProgramRun {
  let status: Int32
  let output: String
  let errors: String

  /// Runs the program with pipes to nothing but files, which never fill up.
  init(
    _ arguments: [String],
    environment: [String: String] = [:]
  ) throws {
    let folder = try TemporaryFolder()
    let (output, errors) = (try folder.newFile("output"), try folder.newFile("errors"))
    let process = try Self.process(arguments, environment, temporaryFolder: folder)
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    process.waitUntilExit()
    status = process.terminationReason == .exit ? process.terminationStatus : -1
    self.output = try String(contentsOfFile: folder.path("output"), encoding: .utf8)
    self.errors = try String(contentsOfFile: folder.path("errors"), encoding: .utf8)
  }

  /// The report that it wrote with `--format json`.
  func report() throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(output.utf8))
    return try #require(object as? [String: Any])
  }

  /// The program, not yet running; a temporary database goes into a folder that is removed.
  static func process(
    _ arguments: [String],
    _ environment: [String: String] = [:],
    temporaryFolder: TemporaryFolder
  ) throws -> Process {
    let process = Process()
    process.executableURL = try program
    process.arguments = arguments
    process.environment = environment.merging(["TMPDIR": temporaryFolder.path("")]) { given, _ in
      given
    }
    process.standardInput = FileHandle.nullDevice
    return process
  }

  /// Where the build has put the program: beside the tests.
  private static var program: URL {
    get throws {
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
      let tests = bundle ?? URL(filePath: CommandLine.arguments[0])
      let program = tests.deletingLastPathComponent().appending(path: "earthquakes")
      let isThere = FileManager.default.isExecutableFile(atPath: program.path())
      try #require(isThere, "There is no program at \(program.path()).")
      return program
    }
  }
}

extension TemporaryFolder {
  /// A new file to write to.
  func newFile(_ name: String) throws -> FileHandle {
    try Data().write(to: url.appending(path: name))
    return try FileHandle(forWritingTo: url.appending(path: name))
  }

  /// Writes a file and returns its path.
  func write(_ data: Data, to name: String) throws -> String {
    try data.write(to: url.appending(path: name))
    return path(name)
  }
}
