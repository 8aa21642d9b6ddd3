import AdvancedOperations
import AdvancedOperationsVisualization
import Foundation

/// A file that an option names for what is drawn or written.
struct OutputFile {
  /// The option, as it is written.
  let option: String
  let path: String

  /// Refuses a folder, a place in a folder that there isn't, and one that would destroy what the
  /// program reads, under whatever name.
  ///
  /// - Parameters:
  ///   - inputs: The files that are read.
  ///   - others: Other places that are written.
  /// - Throws: ``Complaint``.
  func check(against inputs: [String], and others: [OutputFile] = []) throws(Complaint) {
    let status = FileStatus(path)
    if status?.isFolder == true {
      throw Complaint(.usage, "\(option) needs a file, and “\(path)” is a folder")
    }
    let folder = URL(filePath: path).deletingLastPathComponent().relativePath
    if status == nil, FileStatus(folder)?.isFolder != true {
      throw Complaint(.usage, "\(option) “\(path)”: there is no folder “\(folder)”; make it first")
    }
    func isSame(_ other: String) -> Bool {
      other == path || status.map { $0 == FileStatus(other) } ?? false
    }
    if let input = inputs.first(where: isSame) {
      let name = input == path ? "" : ", which is “\(path)” too"
      throw Complaint(.usage, "\(option) would overwrite “\(input)”\(name): give another file")
    }
    if let other = others.first(where: { isSame($0.path) }) {
      throw Complaint(.usage, "\(option) and \(other.option) name the same file, “\(path)”")
    }
  }

  /// Writes a drawing, in the format that the name ends with.
  func write(_ graph: OperationGraph) throws {
    switch URL(filePath: path).pathExtension {
    case "dot": try write(graph.dot())
    case "mmd": try write(graph.mermaid())
    default: try write(graph.svg())
    }
  }

  /// Writes the file whole, or leaves the one that is there.
  ///
  /// - Throws: ``Complaint``.
  func write(_ text: String) throws {
    let data = Data(text.utf8)
    do {
      if let status = FileStatus(path), !status.isFile {
        // A pipe or a terminal, which nothing can take the place of.
        return try data.write(to: URL(filePath: path))
      }
      let place = URL(filePath: path).resolvingSymlinksInPath()
      try data.write(to: place, options: .atomic)
    } catch {
      throw Complaint(
        .failure,
        "\(path) can't be written: \(FileReason.of(error, missing: "folder"))"
      )
    }
  }
}
