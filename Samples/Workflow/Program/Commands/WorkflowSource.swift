import Foundation
import TerminalSupport
import WorkflowDocument

/// A workflow's file, read and checked.
struct WorkflowSource {
  /// As it was given.
  let path: String
  let text: String
  let workflow: Workflow

  /// Reads and checks a file.
  ///
  /// - Throws: ``Complaint``, with all mistakes as compilers print them.
  init(_ path: String) throws(Complaint) {
    self.path = path
    text = try Self.text(path)
    let name = URL(filePath: path).deletingPathExtension().lastPathComponent
    do {
      workflow = try WorkflowFile.workflow(from: text, name: name)
    } catch {
      throw Complaint(.mistakes, Self.text(of: error.diagnostics, in: text, path: path))
    }
  }

  /// The folder where its runs are kept if nothing else is said.
  var runsFolder: String {
    let folder = URL(filePath: path).deletingLastPathComponent().relativePath
    return folder == "." || folder.isEmpty
      ? RunCatalog.usualPath : "\(folder)/\(RunCatalog.usualPath)"
  }

  private static func text(_ path: String) throws(Complaint) -> String {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      let hint = others(beside: path)
      throw Complaint(.mistakes, "there is no file “\(path)”\(hint)")
    }
    if isFolder.boolValue {
      throw Complaint(
        .mistakes,
        "“\(path)” is a folder; give a file in it\(others(beside: "\(path)/x"))"
      )
    }
    do {
      let data = try Data(contentsOf: URL(filePath: path))
      guard let text = String(validating: data, as: UTF8.self) else {
        throw Complaint(.mistakes, "“\(path)” is not text in UTF-8")
      }
      return text
    } catch let complaint as Complaint {
      throw complaint
    } catch {
      throw Complaint(.mistakes, "“\(path)” can't be read: \(FileReason.of(error))")
    }
  }

  /// What could have been meant.
  private static func others(beside path: String) -> String {
    let url = URL(filePath: path)
    let folder = url.deletingLastPathComponent().relativePath
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let files = entries.filter { $0.hasSuffix(".yml") || $0.hasSuffix(".yaml") }.sorted()
    if files.isEmpty { return "" }
    if let near = Nearest.name(to: url.lastPathComponent, among: files) {
      let path = url.deletingLastPathComponent().appending(path: near).relativePath
      return "; did you mean “\(path)”?"
    }
    let more = files.count > 5 ? ", …" : ""
    return "; there are \(files.prefix(5).joined(separator: ", "))\(more)"
  }

  /// The mistakes with their lines, as compilers print them.
  static func text(of diagnostics: [Diagnostic], in text: String, path: String) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    var result: [String] = []
    for diagnostic in diagnostics {
      var place = path
      if let line = diagnostic.line {
        place += ":\(line)"
        if let column = diagnostic.column { place += ":\(column)" }
      }
      let hint = diagnostic.suggestion.map { "; \($0)" } ?? ""
      result.append("\(place): error: \(diagnostic.message)\(hint)")
      guard let line = diagnostic.line, lines.indices.contains(line - 1) else { continue }
      let source = String(lines[line - 1]).printable()
      let number = "\(line)"
      result.append("  \(number) │ \(source.cut(toColumns: 160))")
      if let column = diagnostic.column, column >= 1, column <= 160 {
        let before = String(source.prefix(column - 1)).columnCount
        let indent = String(repeating: " ", count: number.count)
        result.append("  \(indent) │ \(String(repeating: " ", count: before))^")
      }
    }
    result.append("\(diagnostics.count.counted("mistake")) in \(path)")
    return result.joined(separator: "\n")
  }
}
