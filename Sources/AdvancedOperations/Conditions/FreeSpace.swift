import CoreOperations

/// Holds when a volume has room.
///
/// ```swift
/// download.addCondition(FreeSpace(atLeast: 500_000_000, at: "/var/cache"))
/// ```
public struct FreeSpace: ImmediateCondition {
  /// Why there isn't enough room.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Problem: Error, Hashable, CustomStringConvertible {
    /// The volume has fewer bytes than are needed.
    case tooLittle(path: String, available: Int64, needed: Int64)
    /// The volume could not be asked.
    case unknown(path: String, code: Int32)

    /// One sentence with the numbers.
    public var description: String {
      switch self {
      case .tooLittle(let path, let available, let needed):
        "The volume of \(path) has \(Self.text(available)) free, and \(Self.text(needed)) are "
          + "needed."
      case .unknown(let path, let code):
        "The volume of \(path) could not be asked for its free space (error \(code))."
      }
    }

    /// Bytes in the largest unit of which there is one, and exactly: 1.2 GB (1,234,567,890 bytes).
    static func text(_ bytes: Int64) -> String {
      let exact = "\(grouped(bytes)) bytes"
      let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
      var size = Int64(1)
      var unit: String?
      for next in units where bytes / size >= 1_000 {
        size *= 1_000
        unit = next
      }
      guard let unit else { return exact }
      let tenths = bytes / (size / 10)
      return "\(tenths / 10).\(tenths % 10) \(unit) (\(exact))"
    }

    private static func grouped(_ number: Int64) -> String {
      let digits = Array("\(number.magnitude)")
      var text = number < 0 ? "-" : ""
      for (index, digit) in digits.enumerated() {
        if index > 0 && (digits.count - index) % 3 == 0 { text += "," }
        text.append(digit)
      }
      return text
    }
  }

  private let bytes: Int64
  private let path: String

  /// Creates the condition.
  ///
  /// - Parameters:
  ///   - bytes: How many bytes an unprivileged program must be able to write.
  ///   - path: A file or folder on the volume; if there is none, the nearest folder above it
  ///     counts.
  public init(atLeast bytes: Int64, at path: String) {
    self.bytes = bytes
    self.path = path
  }

  /// “free space”.
  public var name: String { "free space" }

  /// Asks the volume.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    var candidate = path
    while true {
      switch FileSystem.freeSpace(at: candidate) {
      case .success(let available):
        if available >= bytes { return .satisfied }
        return .failed(Problem.tooLittle(path: path, available: available, needed: bytes))
      case .failure(let problem):
        guard problem.isMissing, let parent = Self.parent(of: candidate) else {
          return .failed(Problem.unknown(path: path, code: problem.code))
        }
        candidate = parent
      }
    }
  }

  private static func parent(of path: String) -> String? {
    guard path != "/", path != "." else { return nil }
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
