#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The outputs of steps that began to write them and haven't succeeded since, in any run.
///
/// Such a file may be half of what it should be, so it doesn't prove that its step is up to date.
/// While a step runs, each of its outputs has a marker: a file in `.unfinished`, beside the folders
/// of the runs. A success removes the markers. A failure, a cancel, a crash and `kill -9` leave them.
struct UnfinishedOutputs: Sendable {
  private let folder: String
  /// What paths are relative to, so that a project can be moved: the folder of `.workflow`, if runs are
  /// kept where they usually are.
  private let root: String

  /// Refers to the markers beside a run.
  init(beside run: RunFolder) {
    let runs = run.absolutePath.folder
    folder = "\(runs)/.unfinished"
    let usual = "/\(RunFolder.usualPlace)"
    root = runs.hasSuffix(usual) ? String(runs.dropLast(usual.count)) : runs
  }

  /// Whether a step began to write the file and hasn't succeeded since.
  func contains(_ path: String) -> Bool { access(marker(of: path), F_OK) == 0 }

  /// A step begins to write files.
  func insert(_ paths: [String]) throws(RunFolderError) {
    if paths.isEmpty { return }
    do throws(SystemCallError) {
      if mkdir(folder, 0o777) != 0, errno != EEXIST { throw SystemCallError() }
      for path in paths {
        // For people who look what it is.
        try OpenFile(marker(of: path), OpenFile.writingAnew).write("\(path.absolute)\n".utf8)
      }
    } catch {
      throw RunFolderError(path: folder, problem: "\(error)")
    }
  }

  /// The step has succeeded.
  func remove(_ paths: [String]) {
    for path in paths { unlink(marker(of: path)) }
  }

  /// A name with a hash (FNV-1a), because a path may be longer than a name may be.
  private func marker(of path: String) -> String {
    let path = path.absolute
    let name = path.hasPrefix("\(root)/") ? String(path.dropFirst(root.utf8.count + 1)) : path
    let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { hash, byte in
      (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
    }
    return "\(folder)/\(String(hash, radix: 16))"
  }
}

extension String {
  /// The path from the root, without detours.
  var absolute: String {
    let path = path(in: FileManager.default.currentDirectoryPath)
    return "/" + path.pathComponents.joined(separator: "/")
  }
}
