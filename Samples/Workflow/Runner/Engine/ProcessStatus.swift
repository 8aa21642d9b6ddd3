#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What `/proc` says of a process; nothing on systems without it.
struct ProcessStatus {
  /// The line is shorter: a name, and fifty numbers.
  private static let size = 4_096

  /// From the end of its name on, which is the second field and may contain anything.
  private let fields: [ArraySlice<UInt8>]

  init?(of process: Int32) {
    guard let file = try? OpenFile("/proc/\(process)/stat", O_RDONLY),
      let line = try? file.read(atMost: Self.size, at: 0),
      let end = line.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    fields = line[end...].split(separator: UInt8(ascii: " "), maxSplits: 21)
  }

  /// The numbers of all processes that can be seen.
  static var processes: [Int32] {
    var processes: [Int32] = []
    guard let folder = opendir("/proc") else { return [] }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if let process = Int32(name) { processes.append(process) }
    }
    return processes
  }

  /// The variables that a process had when its program began, `NAME=value`; none for another user's.
  static func variables(of process: Int32) -> [ArraySlice<UInt8>] {
    guard let file = try? OpenFile("/proc/\(process)/environ", O_RDONLY),
      let bytes = try? file.readAll()
    else { return [] }
    return bytes.split(separator: 0)
  }

  /// What a process had as a variable when its program began; nil also for another user's.
  static func variable(_ name: String, of process: Int32) -> String? {
    let beginning = Array("\(name)=".utf8)
    return variables(of: process).first { $0.starts(with: beginning) }
      .map { String(decoding: $0.dropFirst(beginning.count), as: UTF8.self) }
  }

  /// The letter of its state, such as `T` for one that was stopped.
  var state: Character? {
    fields.count > 1 ? fields[1].first.map { Character(Unicode.Scalar($0)) } : nil
  }

  /// Whether it has ended, and stays until its parent has seen it.
  var hasEnded: Bool { state == "Z" || state == "X" }

  /// How many threads it has.
  var threadCount: Int? {
    fields.count > 18 ? Int(String(decoding: fields[18], as: UTF8.self)) : nil
  }

  /// The processes that others have just made of themselves, to execute something else.
  ///
  /// - Parameter executable: What the others execute.
  /// - Returns: Their numbers; none where there is no `/proc`.
  static func beginning(of executable: String) -> [Int32] {
    var own = stat()
    guard stat(executable, &own) == 0 else { return [] }
    return processes.filter { process in
      var theirs = stat()
      return process != getpid() && stat("/proc/\(process)/exe", &theirs) == 0
        && theirs.st_ino == own.st_ino && theirs.st_dev == own.st_dev
        && ProcessStatus(of: process)?.threadCount == 1
    }
  }

  /// When it began, in ticks since the start of the machine.
  var begin: UInt64? {
    fields.count > 20 ? UInt64(String(decoding: fields[20], as: UTF8.self)) : nil
  }
}
