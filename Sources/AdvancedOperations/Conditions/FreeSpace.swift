#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Holds when a volume has room.
///
/// ```swift
/// download.addCondition(FreeSpace(atLeast: 500_000_000, at: "/var/cache"))
/// ```
public struct FreeSpace: ImmediateCondition {
  /// Why there isn't enough room.
  public enum Problem: Error, Hashable, CustomStringConvertible {
    /// The volume has fewer bytes than are needed.
    case tooLittle(path: String, available: Int64, needed: Int64)
    /// The volume could not be asked.
    case unknown(path: String, code: Int32)

    /// One sentence with the numbers.
    public var description: String {
      switch self {
      case .tooLittle(let path, let available, let needed):
        "The volume of \(path) has \(available) bytes free, and \(needed) are needed."
      case .unknown(let path, let code):
        "The volume of \(path) could not be asked for its free space (error \(code))."
      }
    }
  }

  private let bytes: Int64
  private let path: String

  /// Creates the condition.
  ///
  /// - Parameters:
  ///   - bytes: How many bytes an unprivileged program must be able to write.
  ///   - path: A file or folder on the volume; if there is none, the nearest folder above it counts.
  public init(atLeast bytes: Int64, at path: String) {
    self.bytes = bytes
    self.path = path
  }

  /// “free space”.
  public var name: String { "free space" }

  /// Asks the volume.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    var volume = statvfs()
    var candidate = path
    while unsafe statvfs(candidate, &volume) != 0 {
      let code = errno
      guard code == ENOENT || code == ENOTDIR, let parent = Self.parent(of: candidate) else {
        return .failed(Problem.unknown(path: path, code: code))
      }
      candidate = parent
    }
    let available = Int64(clamping: UInt64(volume.f_bavail))
      .multipliedReportingOverflow(by: Int64(clamping: UInt64(volume.f_frsize)))
    if available.overflow || available.partialValue >= bytes { return .satisfied }
    return .failed(
      Problem.tooLittle(path: path, available: available.partialValue, needed: bytes)
    )
  }

  private static func parent(of path: String) -> String? {
    guard path != "/", path != "." else { return nil }
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
