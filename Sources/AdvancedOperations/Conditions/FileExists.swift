import CoreOperations

/// A condition that is satisfied if there is a file or a folder at a path.
///
/// ```swift
/// importing.addCondition(FileExists("/data/feed.json", isReadable: true))
/// importing.addCondition(FileExists("/data/archive", kind: .folder))
/// ```
public struct FileExists: ImmediateCondition {
  /// The kind of item that a path has to lead to; symbolic links are followed.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// The item is a file, a folder, or another kind of item.
    case any
    /// The item is an ordinary file.
    case file
    /// The item is a folder.
    case folder
  }

  /// An error that reports the problem with a path.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Problem: Error, Hashable, CustomStringConvertible {
    /// The path leads to no item.
    case missing(path: String, needed: Kind = .any)
    /// The item at the path isn't of the required kind.
    case wrongKind(path: String, needed: Kind)
    /// The program isn't allowed to read the item at the path.
    case unreadable(path: String)

    /// A sentence with the problem and the path.
    public var description: String {
      switch self {
      case .missing(let path, .folder): "There is no folder at \(path)."
      case .missing(let path, .file), .missing(let path, .any): "There is no file at \(path)."
      case .wrongKind(let path, .folder): "The item at \(path) isn't a folder."
      case .wrongKind(let path, .file), .wrongKind(let path, .any):
        "The item at \(path) isn't a file."
      case .unreadable(let path): "This program isn't allowed to read \(path)."
      }
    }
  }

  private let path: String
  private let kind: Kind
  private let isReadable: Bool

  /// Creates the condition.
  ///
  /// - Parameters:
  ///   - path: The path, which is absolute or relative to the current folder of the process.
  ///   - kind: The required kind of the item.
  ///   - isReadable: True if the program must be allowed to read the item.
  public init(_ path: String, kind: Kind = .any, isReadable: Bool = false) {
    self.path = path
    self.kind = kind
    self.isReadable = isReadable
  }

  /// The name “folder exists” if a folder is required, otherwise “file exists”.
  public var name: String { kind == .folder ? "folder exists" : "file exists" }

  /// Checks the path in the file system.
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
