import Foundation
import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// A workflow's file, read and checked.
struct WorkflowSource {
  /// As it was given.
  let path: String
  let text: String
  private(set) var workflow: Workflow

  /// Reads and checks a file that is to be run.
  ///
  /// - Parameters:
  ///   - path: Where it is.
  ///   - parameters: Values for its parameters.
  ///   - needsAll: Whether each parameter has to have a value.
  /// - Throws: ``Complaint``.
  init(_ path: String, _ parameters: [String: String], needsAll: Bool) throws(Complaint) {
    try self.init(path)
    do throws(Workflow.ParameterProblem) {
      workflow = try workflow.setting(parameters, needsAll: needsAll)
    } catch {
      throw Complaint(.usage, "\(path): \(error)")
    }
  }

  /// Gives parameters the values that a run has.
  mutating func set(_ parameters: [String: String]) throws(Complaint) {
    let known = parameters.filter { workflow.parameters[$0.key] != nil }
    do throws(Workflow.ParameterProblem) {
      workflow = try workflow.setting(known)
    } catch {
      guard case .missing(let names) = error else { return }
      let list = names.map { "‘\($0)’" }.joined(separator: ", ")
      throw Complaint(
        .mistakes,
        "\(path): the run has no value for \(list); give it a default in the file"
      )
    }
  }

  /// The file that is meant where none is named: `workflow.yml` of this folder.
  static func defaultPath() throws(Complaint) -> String {
    for name in ["workflow.yml", "workflow.yaml"] where FileStatus(name)?.isFolder == false {
      return name
    }
    throw Complaint(
      .usage,
      "no file is named, and there is no workflow.yml in this folder\(others(beside: "x"))"
    )
  }

  /// Reads and checks a file.
  ///
  /// - Parameters:
  ///   - path: Where it is.
  ///   - name: What the workflow is called if the file doesn't say; nil: as the file.
  /// - Throws: ``Complaint``, with all mistakes as compilers print them.
  init(_ path: String, name: String? = nil) throws(Complaint) {
    self.path = path
    let bytes = try Self.bytes(path)
    text = String(decoding: bytes, as: UTF8.self)
    let name = name ?? URL(filePath: path).deletingPathExtension().lastPathComponent
    do {
      workflow = try WorkflowFile.workflow(fromUTF8: bytes, name: name)
    } catch {
      if let other = OtherFormat(of: Data(bytes), named: path), other.isRunnable {
        throw Complaint(.mistakes, "\(path) is a \(other.name), not a workflow: \(other.advice)")
      }
      throw Complaint(mistakes: error, in: path)
    }
  }

  /// The path, if there will be the same later; nil for a pipe, of which the run's copy is left.
  var lastingPath: String? { InputFile.isPipe(path) ? nil : path }

  /// The folder of the file, in which its steps run.
  var folder: String {
    if lastingPath == nil { return "." }
    let folder = URL(filePath: path).deletingLastPathComponent().relativePath
    return folder.isEmpty ? "." : folder
  }

  /// The folder where its runs are kept if nothing else is said.
  var runsFolder: String {
    folder == "." ? RunFolder.usualPlace : "\(folder)/\(RunFolder.usualPlace)"
  }

  private static func bytes(_ path: String) throws(Complaint) -> [UInt8] {
    guard let status = FileStatus(path) else {
      let hint = others(beside: path)
      throw Complaint(.mistakes, "there is no file “\(path)”\(hint)")
    }
    if status.isFolder {
      throw Complaint(
        .mistakes,
        "“\(path)” is a folder; give a file in it\(others(beside: "\(path)/x"))"
      )
    }
    return try InputFile.bytes(path)
  }

  /// What could have been meant.
  private static func others(beside path: String) -> String {
    let url = URL(filePath: path)
    let folder = url.deletingLastPathComponent().relativePath
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let files = entries.filter { $0.hasSuffix(".yml") || $0.hasSuffix(".yaml") }.sorted()
    if files.isEmpty { return "" }
    if let near = Nearest.name(to: url.lastPathComponent, among: files) {
      let path = folder == "." ? near : "\(folder)/\(near)"
      return "; did you mean “\(path)”?"
    }
    let more = files.count > 5 ? ", …" : ""
    return
      "; there \(files.count == 1 ? "is" : "are") \(files.prefix(5).joined(separator: ", "))\(more)"
  }
}
