#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Holds when there is a file or folder at a path.
///
/// ```swift
/// importing.addCondition(FileExists("/data/feed.json", isReadable: true))
/// ```
public struct FileExists: ImmediateCondition {
  /// What is wrong with the path.
  public enum Problem: Error, Hashable, CustomStringConvertible {
    /// There is nothing at the path.
    case missing(path: String)
    /// There is something, and the program must not read it.
    case unreadable(path: String)

    /// One sentence with the path.
    public var description: String {
      switch self {
      case .missing(let path): "There is no file at \(path)."
      case .unreadable(let path): "The file at \(path) may not be read by this program."
      }
    }
  }

  private let path: String
  private let isReadable: Bool

  /// Creates the condition.
  ///
  /// - Parameters:
  ///   - path: Absolute, or relative to the current folder of the process.
  ///   - isReadable: Whether the program must be allowed to read it.
  public init(_ path: String, isReadable: Bool = false) {
    self.path = path
    self.isReadable = isReadable
  }

  /// “file exists”.
  public var name: String { "file exists" }

  /// Looks at the path.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    guard unsafe access(path, F_OK) == 0 else { return .failed(Problem.missing(path: path)) }
    if unsafe isReadable && access(path, R_OK) != 0 {
      return .failed(Problem.unreadable(path: path))
    }
    return .satisfied
  }
}
