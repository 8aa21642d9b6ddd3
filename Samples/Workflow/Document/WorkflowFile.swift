/// Reads and writes workflows as YAML.
///
/// Values are the text that is written: `no`, `1.10` and `0x10` are these texts, wherever a text is
/// meant, among them the values of a matrix and of variables. Anchors, aliases and merge keys (`<<`)
/// mean what they mean in YAML 1.1. A text gets values where it says `${{ … }}`:
///
/// | place | value |
/// |---|---|
/// | `${{ matrix.NAME }}` | of the step's combination |
/// | `${{ env.NAME }}` | of the step's variable, else the workflow's, else the runner's |
/// | `${{ steps.ID.NAME }}` | what a step that is needed gave |
/// | `${{ parameters.NAME }}` | that was given when the workflow was run, else the default |
/// | `${{ run.id }}` | the name of the run |
/// | `${{ 'text' }}` | that text |
public enum WorkflowFile {
  /// How many bytes a file may have.
  public static let sizeLimit = 64 << 20

  /// Reads a workflow, with all of its matrices expanded and all of its names checked.
  ///
  /// - Parameters:
  ///   - text: What the file contains.
  ///   - name: What the workflow is called if the file doesn't say.
  /// - Returns: The workflow, without a mistake that can be found before it runs.
  /// - Throws: ``Mistakes``, all at once; where the syntax of YAML is wrong, the first one of it.
  /// - Complexity: Linear in the text, but for references to steps: a 64th of steps times those
  ///   that are referred to.
  public static func workflow(from text: String, name: String) throws(Mistakes) -> Workflow {
    // The parser takes the mark for a character of the first line.
    let hasMark = text.unicodeScalars.first == "\u{FEFF}"
    let text = hasMark ? String(text.unicodeScalars.dropFirst()) : text
    let findings = Findings(text: text)
    guard text.utf8.count <= sizeLimit else {
      findings.add("the file has more than \(sizeLimit >> 20) MiB", at: nil)
      throw Mistakes(findings.sorted, in: "")
    }
    let parsed = YAMLParser.parsed(text)
    parsed.mistakes.forEach(findings.add)
    guard let root = parsed.root else {
      if findings.isEmpty { findings.add("the file is empty", at: nil, help: emptyHelp) }
      throw Mistakes(findings.sorted, in: text)
    }
    if root.isEmpty, findings.isEmpty {
      findings.add("the file is empty", at: nil, help: emptyHelp)
      throw Mistakes(findings.sorted, in: text)
    }
    let workflow = WorkflowReader(findings).workflow(root, name: name)
    guard findings.isEmpty else { throw Mistakes(findings.sorted, in: text) }
    return workflow
  }

  /// Reads a workflow from the bytes of a file.
  ///
  /// - Parameters:
  ///   - bytes: What the file contains, as UTF-8.
  ///   - name: What the workflow is called if the file doesn't say.
  /// - Returns: The workflow, without a mistake that can be found before it runs.
  /// - Throws: ``Mistakes``, one of which may be that the bytes aren't UTF-8.
  public static func workflow(
    fromUTF8 bytes: [UInt8],
    name: String
  ) throws(Mistakes) -> Workflow {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Mistakes([notText(bytes)], in: "")
    }
    return try workflow(from: text, name: name)
  }

  private static let emptyHelp = "a workflow begins with ‘steps:’"

  /// What is wrong with bytes that aren't UTF-8.
  private static func notText(_ bytes: [UInt8]) -> Diagnostic {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      return Diagnostic(
        line: nil,
        column: nil,
        message: "the file is UTF-16, not UTF-8",
        suggestion: "save it as UTF-8"
      )
    }
    // The first byte that no longer makes a text, found by halves.
    var good = 0
    var bad = bytes.count
    while bad - good > 1 {
      let middle = (good + bad) / 2
      if isBeginning(bytes[..<middle]) { good = middle } else { bad = middle }
    }
    // The character that it doesn't fit into begins up to three bytes before it.
    while String(validating: bytes[..<good], as: UTF8.self) == nil { good -= 1 }
    let before = bytes[..<good]
    let line = before.count { $0 == 0x0A } + 1
    let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    let column = String(decoding: before[lineStart...], as: UTF8.self).unicodeScalars.count
    let code = String(bytes[good], radix: 16, uppercase: true)
    return Diagnostic(
      line: line,
      column: column + 1,
      message: "the byte 0x\(code) isn’t UTF-8",
      suggestion: "save the file as UTF-8"
    )
  }

  /// Whether bytes are the beginning of a text, the last character of which may be cut.
  private static func isBeginning(_ bytes: ArraySlice<UInt8>) -> Bool {
    (0...3).contains { String(validating: bytes.dropLast($0), as: UTF8.self) != nil }
  }
}
