import Foundation
import WorkflowRunner

/// The runs that a folder keeps: `.workflow/runs` beside a workflow's file.
struct RunCatalog {
  /// The path of the folder, which needn't be there.
  let path: String

  init(_ path: String) { self.path = path }

  /// The catalog that a command means that names no file: of this folder, or of one above it.
  static func nearest(to folder: String) -> RunCatalog {
    // Above a path that isn't absolute there is always another one.
    guard folder.hasPrefix("/") else { return RunCatalog(RunFolder.usualPlace) }
    var url = URL(filePath: folder).standardizedFileURL
    while true {
      let runs = url.appending(path: RunFolder.usualPlace).path(percentEncoded: false)
      if FileManager.default.fileExists(atPath: runs) {
        // As people would write it.
        let isHere = url == URL(filePath: folder).standardizedFileURL
        return RunCatalog(isHere ? RunFolder.usualPlace : runs)
      }
      let above = url.deletingLastPathComponent().standardizedFileURL
      if above == url || url.path() == "/" { return RunCatalog(RunFolder.usualPlace) }
      url = above
    }
  }

  /// What commands need so that they find the catalog from here.
  var place: String {
    let here = RunCatalog.nearest(to: FileManager.default.currentDirectoryPath)
    let (one, other) = (URL(filePath: here.path), URL(filePath: path))
    let isSame = one.standardizedFileURL == other.standardizedFileURL
    return isSame ? "" : " --runs-folder \(path.shellQuoted)"
  }

  /// The names of the runs, the newest last.
  ///
  /// They begin with the time, up to its second; of those of one second the journals know it
  /// better, and best of all the list of the folder, if it has them.
  var names: [String] { RunFolder.inOrder(namesByTime, of: path) }

  private var namesByTime: [String] {
    var result: [String] = []
    var next = namesInOrder[...]
    while let first = next.first {
      let group = next.prefix { $0.second == first.second }
      next = next.dropFirst(group.count)
      let begins = group.count > 1 ? group.map { (name: $0, begin: begin(of: $0)) } : []
      if begins.isEmpty || begins.contains(where: { $0.begin == nil }) {
        result += group
      } else {
        result += begins.sorted { ($0.begin ?? 0) < ($1.begin ?? 0) }.map(\.name)
      }
    }
    return result
  }

  private func begin(of name: String) -> Double? {
    (try? JournalFile.contents(of: record(name).folder.journal))?.header.begin
  }

  private var namesInOrder: [String] {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    // Somebody may keep other folders there: the name of a run begins with its time.
    return entries.filter { name in
      record(name).when != nil && FileStatus("\(path)/\(name)")?.isFolder == true
    }
    .sorted { $0.compare($1, options: .numeric) == .orderedAscending }
  }

  func record(_ name: String) -> RunRecord { RunRecord(path: "\(path)/\(name)") }

  /// The run that an abbreviation means: `last`, a part of its name, or its folder.
  func run(_ abbreviation: String) throws(Complaint) -> RunRecord {
    if abbreviation.contains("/") {
      let url = URL(filePath: abbreviation).standardizedFileURL
      let record = RunRecord(path: url.path(percentEncoded: false).droppingSlash)
      if FileManager.default.fileExists(atPath: record.folder.workflowFile) { return record }
    }
    let names = names
    guard let newest = names.last else {
      throw Complaint(
        .usage,
        "there are no runs in \(path). “workflow run FILE” begins one; --runs-folder says where "
          + "others are"
      )
    }
    if abbreviation == "last" { return record(newest) }
    if names.contains(abbreviation) { return record(abbreviation) }
    var found = abbreviation.isEmpty ? [] : names.filter { $0.hasPrefix(abbreviation) }
    if found.isEmpty, !abbreviation.isEmpty { found = names.filter { $0.contains(abbreviation) } }
    if found.count == 1 { return record(found[0]) }
    if found.isEmpty {
      let near = Nearest.name(to: abbreviation, among: ["last"] + names)
      let hint = near.map { "; did you mean “\($0)”?" } ?? ""
      throw Complaint(
        .usage,
        "there is no run “\(abbreviation)” in \(path)\(hint)\n" + Self.list(names)
      )
    }
    throw Complaint(
      .usage,
      "“\(abbreviation)” could be \(found.count) runs; “last” is the newest of all\n"
        + Self.list(found)
    )
  }

  private static func list(_ names: [String]) -> String {
    let shown = names.suffix(5).reversed().map { "  \($0)" }.joined(separator: "\n")
    let more = names.count > 5 ? "\n  … and \(names.count - 5) older ones: workflow runs" : ""
    return "the newest:\n\(shown)\(more)"
  }
}

extension String {
  /// The second in a run's name: `2026-11-22-174501`.
  fileprivate var second: Substring { prefix(17) }

  fileprivate var droppingSlash: String {
    count > 1 && hasSuffix("/") ? String(dropLast()) : self
  }
}
