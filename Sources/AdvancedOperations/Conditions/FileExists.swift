import CoreOperations

/// Holds when there is a file or folder at a path.
///
/// ```swift
/// importing.addCondition(FileExists("/data/feed.json", isReadable: true))
/// importing.addCondition(FileExists("/data/archive", kind: .folder))
/// ```
public struct FileExists: ImmediateCondition {
  /// What there has to be; links are followed.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// A file, a folder, or something else.
    case any
    /// An ordinary file.
    case file
    /// A folder.
    case folder
  }

  /// What is wrong with the path.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Problem: Error, Hashable, CustomStringConvertible {
    /// There is nothing at the path.
    case missing(path: String, needed: Kind = .any)
    /// There is something, but not what is needed.
    case wrongKind(path: String, needed: Kind)
    /// There is something, and the program must not read it.
    case unreadable(path: String)

    /// One sentence with the path.
    public var description: String {
      switch self {
      case .missing(let path, .folder): "There is no folder at \(path)."
      case .missing(let path, .file), .missing(let path, .any): "There is no file at \(path)."
      case .wrongKind(let path, .folder): "What is at \(path) is no folder."
      case .wrongKind(let path, .file), .wrongKind(let path, .any):
        "What is at \(path) is no file."
      case .unreadable(let path): "What is at \(path) may not be read by this program."
      }
    }
  }

  private let path: String
  private let kind: Kind
  private let isReadable: Bool

  /// Creates the condition.
  ///
  /// - Parameters:
  ///   - path: Absolute, or relative to the current folder of the process.
  ///   - kind: What there has to be.
  ///   - isReadable: Whether the program must be allowed to read it.
  public init(_ path: String, kind: Kind = .any, isReadable: Bool = false) {
    self.path = path
    self.kind = kind
    self.isReadable = isReadable
  }

  /// “file exists”, or “folder exists” when that is what is needed.
  public var name: String { kind == .folder ? "folder exists" : "file exists" }

  /// Looks at the path.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    guard let found = FileSystem.kind(of: path) else {
      return .failed(Problem.missing(path: path, needed: kind))
    }
    let isKind =
      switch kind {
      case .any: true
      case .file: found == .file
      case .folder: found == .folder
      }
    guard isKind else { return .failed(Problem.wrongKind(path: path, needed: kind)) }
    if isReadable && !FileSystem.isReadable(path) {
      return .failed(Problem.unreadable(path: path))
    }
    return .satisfied
  }
}
