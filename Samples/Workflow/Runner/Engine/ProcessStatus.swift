#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What `/proc` says of a process; nothing on systems without it.
struct ProcessStatus {
  /// From the end of its name on, which is the second field and may contain anything.
  private let fields: [Substring]

  init?(of process: Int32) {
    guard let file = try? OpenFile("/proc/\(process)/stat", O_RDONLY),
      let bytes = try? file.readAll()
    else { return nil }
    let line = String(decoding: bytes, as: UTF8.self)
    guard let end = line.lastIndex(of: ")") else { return nil }
    fields = line[end...].split(separator: " ")
  }

  /// Whether it has ended, and stays until its parent has seen it.
  var hasEnded: Bool { fields.count > 1 && (fields[1] == "Z" || fields[1] == "X") }

  /// When it began, in ticks since the start of the machine.
  var begin: String? { fields.count > 20 ? String(fields[20]) : nil }
}
