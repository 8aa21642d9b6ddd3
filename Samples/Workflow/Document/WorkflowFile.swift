/// Reads a workflow from YAML.
public enum WorkflowFile {
  /// All mistakes of a file, in the order of their lines.
  public struct Mistakes: Error, Sendable {
    /// The mistakes.
    public var diagnostics: [Diagnostic]
  }

  /// Reads a workflow, with all of its matrices expanded and all of its names checked.
  ///
  /// - Parameters:
  ///   - text: What the file contains.
  ///   - name: What the workflow is called if the file doesn't say.
  /// - Returns: The workflow, without a mistake that can be found before it runs.
  /// - Throws: ``Mistakes``, all at once.
  public static func workflow(from text: String, name: String) throws(Mistakes) -> Workflow {
    throw Mistakes(diagnostics: [])
  }
}
