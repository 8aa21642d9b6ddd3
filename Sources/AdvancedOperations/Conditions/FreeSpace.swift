import CoreOperations

/// A condition that is satisfied if a volume has enough free space.
///
/// ```swift
/// download.addCondition(FreeSpace(atLeast: 500_000_000, at: "/var/cache"))
/// ```
///
/// In a test, pass a closure that returns the free space, so that the disk of the machine doesn't
/// decide the result:
///
/// ```swift
/// let full = FreeSpace(atLeast: 500_000_000, at: "/var/cache", measuredBy: { _ in 1_000 })
/// ```
public struct FreeSpace: ImmediateCondition {
  /// An error that reports why the volume doesn't have enough free space.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Problem: Error, Hashable, CustomStringConvertible {
    /// The volume has fewer bytes than are needed.
    case tooLittle(path: String, available: Int64, needed: Int64)
    /// The system didn't return the free space of the volume; the code is the value of `errno`.
    case unknown(path: String, code: Int32)
    /// The closure that measures the free space threw an error; the reason is the error's text.
    case notMeasured(path: String, reason: String)

    /// A sentence with the problem and the numbers.
    public var description: String {
      switch self {
      case .tooLittle(let path, let available, let needed):
        "The volume of \(path) has \(Self.text(available)) free, and \(Self.text(needed)) are "
          + "needed."
      case .unknown(let path, let code):
        "The system did not report the free space of the volume of \(path) (error \(code))."
      case .notMeasured(let path, let reason):
        "The free space of the volume of \(path) could not be measured: \(reason)"
      }
    }

    /// Returns a number of bytes in its largest unit, and exactly: 1.2 GB (1,234,567,890 bytes).
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
  private let measure: @Sendable (_ path: String) throws -> Int64

  /// Creates the condition.
  ///
  /// - Parameters:
  ///   - bytes: The number of bytes that an unprivileged program must be able to write.
  ///   - path: A file or folder on the volume. If it doesn't exist, the nearest existing folder
  ///     above it determines the volume.
  ///   - measure: A closure that returns the number of free bytes of the volume of the path; nil
  ///     asks the file system. Each evaluation calls the closure on the thread that evaluates the
  ///     condition. The closure must not block this thread. No lock is held during the call. If the
  ///     closure throws a ``Problem``, the problem is the error of the condition. Any other error
  ///     results in ``Problem/notMeasured(path:reason:)``.
  public init(
    atLeast bytes: Int64,
    at path: String,
    measuredBy measure: (@Sendable (_ path: String) throws -> Int64)? = nil
  ) {
    self.bytes = bytes
    self.path = path
    self.measure = measure ?? Self.askFileSystem
  }

  /// The name “free space”.
  public var name: String { "free space" }

  /// Compares the free space of the volume with the required space.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    do {
      let available = try measure(path)
      if available >= bytes { return .satisfied }
      return .failed(Problem.tooLittle(path: path, available: available, needed: bytes))
    } catch let problem as Problem {
      return .failed(problem)
    } catch {
      return .failed(Problem.notMeasured(path: path, reason: "\(error)"))
    }
  }

  @Sendable
  private static func askFileSystem(at path: String) throws(Problem) -> Int64 {
    var candidate = path
    while true {
      switch FileSystem.freeSpace(at: candidate) {
      case .success(let available): return available
      case .failure(let problem):
        guard problem.isMissing, let parent = parent(of: candidate) else {
          throw .unknown(path: path, code: problem.code)
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
