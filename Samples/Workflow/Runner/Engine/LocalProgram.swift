import Subprocess
import WorkflowDocument

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What is executed for an attempt: a file, its arguments and variables.
struct LocalProgram {
  /// What the command calls it.
  let name: String
  /// An absolute path.
  let path: String
  /// Without the name.
  let arguments: [String]
  /// `NAME=value` and the 0 that C wants.
  let environment: [[UInt8]]

  init(_ attempt: StepAttempt) async throws(LocalEngineError) {
    let words: [String]
    switch attempt.command {
    case .shell(let script): words = try await Self.shell(of: attempt) + [script]
    case .arguments(let list): words = list
    }
    guard let name = words.first, !name.isEmpty else {
      throw .notStarted("its list has no program")
    }
    // The system would take what is before it, and leave out the rest.
    if words.contains(where: { $0.has(0) }) {
      throw .notStarted("it has a character with the code 0")
    }
    self.name = name
    arguments = Array(words.dropFirst())
    path = try Self.path(of: name, attempt)
    var environment: [[UInt8]] = []
    environment.reserveCapacity(attempt.environment.count)
    for (name, value) in attempt.environment where Self.canBePassed(name, value) {
      environment.append(Self.unreadable[name]?.bytes(for: value) ?? Self.bytes(name, value))
    }
    self.environment = environment
  }

  /// The shell of an attempt, with its options.
  private static func shell(of attempt: StepAttempt) async throws(LocalEngineError) -> [String] {
    let shell = attempt.step.shell ?? .standard
    guard case .posix(let program) = shell else { return shell.words(hasPipefail: false) }
    let path = try path(of: program, attempt)
    return shell.words(hasPipefail: await ShellOptions.hasPipefail(path))
  }

  private static func bytes(_ name: String, _ value: String) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(name.utf8.count + value.utf8.count + 2)
    bytes += name.utf8
    bytes.append(UInt8(ascii: "="))
    bytes += value.utf8
    bytes.append(0)
    return bytes
  }

  /// A variable whose value is no UTF-8.
  private struct Unreadable {
    /// What is known of the value: U+FFFD stands in it.
    let text: String
    /// Name and value as they are.
    let bytes: [UInt8]

    /// As they are, unless the file gives the variable another value.
    func bytes(for value: String) -> [UInt8]? { value == text ? bytes : nil }
  }

  /// The runner's own, as the system gave them to it; where it doesn't tell, steps get the text.
  private static let unreadable: [String: Unreadable] = {
    var result: [String: Unreadable] = [:]
    for entry in ProcessStatus.variables(of: getpid()) {
      let parts = entry.split(separator: UInt8(ascii: "="), maxSplits: 1)
      guard parts.count == 2, String(validating: parts[1], as: UTF8.self) == nil,
        let name = String(validating: parts[0], as: UTF8.self)
      else { continue }
      let text = String(decoding: parts[1], as: UTF8.self)
      result[name] = Unreadable(text: text, bytes: Array(entry) + [0])
    }
    return result
  }()

  /// Whether Subprocess takes the variable; one of the runner's that it doesn't take is left out,
  /// instead of failing every step.
  private static func canBePassed(_ name: String, _ value: String) -> Bool {
    guard let first = name.utf8.first else { return false }
    if first >= UInt8(ascii: "0") && first <= UInt8(ascii: "9") { return false }
    return !name.has(0) && !name.has(UInt8(ascii: "=")) && !value.has(0)
  }

  private static func path(
    of name: String,
    _ attempt: StepAttempt
  ) throws(LocalEngineError) -> String {
    if name.hasPrefix("/") { return name }
    if name.utf8.contains(UInt8(ascii: "/")) { return "\(attempt.workingDirectory)/\(name)" }
    // Looked for here: each folder that doesn't have it would cost a process that fails.
    let folders = attempt.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
    for folder in folders.split(separator: ":") {
      // A relative one starts from the folder of the step, as a shell sees it.
      let path = "\(String(folder).path(in: attempt.workingDirectory))/\(name)"
      if access(path, X_OK) == 0, !isFolder(path) { return path }
    }
    throw .programNotFound(name: name, searched: folders)
  }

  /// What the first line of a script names, behind `#!`; nil if it is no script.
  ///
  /// The system says of a script whose interpreter isn't there that the script isn't.
  var interpreter: String? {
    guard let file = try? OpenFile(reading: path), let bytes = try? file.read(atMost: 256, at: 0),
      bytes.starts(with: "#!".utf8), let line = bytes.split(separator: UInt8(ascii: "\n")).first
    else { return nil }
    let words = line.dropFirst(2).split(separator: UInt8(ascii: " "))
    return words.first.map { String(decoding: $0, as: UTF8.self) }
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}

extension String {
  /// Whether a byte is in it; a dozen times as fast as its view of bytes, for all variables of all
  /// attempts.
  fileprivate func has(_ byte: UInt8) -> Bool {
    utf8.withContiguousStorageIfAvailable { $0.contains(byte) } ?? utf8.contains(byte)
  }
}
