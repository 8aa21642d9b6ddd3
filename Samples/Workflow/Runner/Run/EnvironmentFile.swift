public import WorkflowDocument

/// A file of variables, `.env`: lines `NAME=VALUE`, comments that begin with `#`, nothing expanded.
public struct EnvironmentFile {
  /// A line that is none of these.
  struct Problem: Error, CustomStringConvertible {
    let line: Int
    let reason: String
    var description: String { "line \(line): \(reason)" }
  }

  /// The variables of the files that a workflow names; where several have one, that of the last.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - directory: The folder of its file.
  /// - Returns: The variables.
  /// - Throws: ``RunError`` for a file that isn't there, or isn't one of variables.
  @discardableResult
  public static func variables(
    for workflow: Workflow,
    in directory: String
  ) throws(RunError) -> [String: String] {
    var variables: [String: String] = [:]
    for name in workflow.environmentFiles {
      do {
        let bytes = try OpenFile(reading: name.path(in: directory)).readAll()
        let file = try EnvironmentFile(String(decoding: bytes, as: UTF8.self))
        variables.merge(file.variables) { _, later in later }
      } catch {
        throw .environmentFile(name, reason: "\(error)")
      }
    }
    return variables
  }

  /// The variables; of a name that is written twice, the last one.
  private(set) var variables: [String: String] = [:]

  init(_ text: String) throws(Problem) {
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      var rest = line.drop { $0 == " " || $0 == "\t" }
      if rest.isEmpty || rest.first == "#" { continue }
      if rest.hasPrefix("export ") { rest = rest.dropFirst(7).drop { $0 == " " } }
      guard let equals = rest.firstIndex(of: "="), Self.isName(rest[..<equals]) else {
        throw Problem(line: index + 1, reason: "it is not ‘NAME=VALUE’")
      }
      guard let value = Self.value(rest[rest.index(after: equals)...]) else {
        throw Problem(line: index + 1, reason: "its quotation mark is never closed")
      }
      variables[String(rest[..<equals])] = value
    }
  }

  private static func isName(_ text: Substring) -> Bool {
    guard let first = text.first, !first.isNumber else { return false }
    return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
  }

  /// The value of a line, of which quotation marks keep spaces and `#`; nil if they aren't closed.
  private static func value(_ text: Substring) -> String? {
    let text = text.drop { $0 == " " || $0 == "\t" }
    guard let quote = text.first, quote == "\"" || quote == "'" else {
      // A `#` behind a space begins a comment.
      let end = text.firstRange(of: " #")?.lowerBound ?? text.endIndex
      var value = text[..<end]
      while value.last == " " || value.last == "\t" { value.removeLast() }
      return String(value)
    }
    var value = ""
    var isEscaped = false
    for character in text.dropFirst() {
      if isEscaped {
        value.append(character == "n" ? "\n" : character)
        isEscaped = false
      } else if character == "\\", quote == "\"" {
        isEscaped = true
      } else if character == quote {
        return value
      } else {
        value.append(character)
      }
    }
    return nil
  }
}
