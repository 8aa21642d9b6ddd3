/// Where a run keeps what it must not lose: `.workflow/runs/NAME` beside the file.
public struct RunFolder: Sendable {
  /// Its path.
  public var path: String

  /// Refers to a folder.
  public init(_ path: String) { self.path = path }
}
