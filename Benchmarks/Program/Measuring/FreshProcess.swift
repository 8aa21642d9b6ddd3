import Foundation

/// Probes that need a process of their own: a heap that nobody used before, or one that may crash.
enum FreshProcess {
  /// Runs this program with a probe and gives what it printed.
  ///
  /// - Returns: nil if it crashed or failed.
  static func run(_ probe: String) -> String? {
    guard let program = Bundle.main.executableURL else { return nil }
    let process = Process()
    let output = Pipe()
    process.executableURL = program
    process.arguments = ["--probe", probe]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else { return nil }
    return String(bytes: text, encoding: .utf8)?.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Does what `run` asks for, in the process that it started.
  static func answer(_ probe: String) -> String? {
    let words = probe.split(separator: ":").map(String.init)
    switch (words.first, words.count) {
    case ("memory", 4):
      guard let kind = MemoryProbe.Kind(rawValue: words[1]),
        let state = MemoryProbe.State(rawValue: words[2]), let count = Int(words[3])
      else { return nil }
      return MemoryProbe.measure(kind, state, count: count).map { String($0) }
    case ("small-stack", 2): return Int(words[1]).flatMap { SmallStackProbe.run(length: $0) }
    default: return nil
    }
  }
}
