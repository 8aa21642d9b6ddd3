import TerminalSupport
public import WorkflowDocument

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

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
        let file = try OpenFile(reading: name.path(in: directory))
        guard try file.size() <= limit else { throw SystemCallError(code: EFBIG) }
        let bytes = try file.readAll()
        let content = try EnvironmentFile(String(decoding: bytes, as: UTF8.self))
        variables.merge(content.variables) { _, later in later }
      } catch {
        throw .environmentFile(name, reason: "\(error)")
      }
    }
    return variables
  }

  /// How many bytes a file may have.
  private static let limit = 1 << 20

  /// The variables; of a name that is written twice, the last one.
  private(set) var variables: [String: String] = [:]

  init(_ text: String) throws(Problem) {
    // Editors of other systems write a mark.
    let text =
      text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      var rest = line.drop { $0 == " " || $0 == "\t" }
      if rest.isEmpty || rest.first == "#" { continue }
      if rest.hasPrefix("export"), let space = rest.dropFirst(6).first,
        space == " " || space == "\t"
      {
        rest = rest.dropFirst(7).drop { $0 == " " || $0 == "\t" }
      }
      let name = rest.prefix { $0 != "=" && $0 != " " && $0 != "\t" }
      rest = rest.dropFirst(name.count).drop { $0 == " " || $0 == "\t" }
      guard rest.first == "=", ShellQuoting.isName(String(name)) else {
        throw Problem(line: index + 1, reason: "it is not ‘NAME=VALUE’")
      }
      do throws(ValueFault) {
        variables[String(name)] = try Self.value(rest.dropFirst())
      } catch {
        throw Problem(line: index + 1, reason: error.rawValue)
      }
    }
  }

  /// What is wrong with a value.
  private enum ValueFault: String, Error {
    case open = "its quotation mark is never closed"
    case rest = "there is text after its closing quotation mark"
    case zero = "it has a character U+0000"
  }

  /// The value of a line, of which quotation marks keep spaces and `#`.
  private static func value(_ text: Substring) throws(ValueFault) -> String {
    let text = text.drop { $0 == " " || $0 == "\t" }
    if text.utf8.contains(0) { throw .zero }
    guard let quote = text.first, quote == "\"" || quote == "'" else {
      // A `#` behind a space begins a comment.
      let end = text.firstRange(of: " #")?.lowerBound ?? text.endIndex
      var value = text[..<end]
      while value.last == " " || value.last == "\t" { value.removeLast() }
      return String(value)
    }
    var value = ""
    var rest = text.dropFirst()
    var isOpen = true
    while isOpen, let character = rest.popFirst() {
      if character == quote {
        isOpen = false
      } else if character == "\\", quote == "\"", let next = rest.popFirst() {
        value.append(next == "n" ? "\n" : next)
      } else {
        value.append(character)
      }
    }
    if isOpen { throw .open }
    let end = rest.drop { $0 == " " || $0 == "\t" }
    guard end.isEmpty || end.first == "#" && end.startIndex != rest.startIndex else { throw .rest }
    return value
  }
}
