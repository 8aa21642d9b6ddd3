import AdvancedOperations
import Foundation

/// Holds when the folder is there that a file is to be written into.
struct FolderExists: ImmediateCondition {
  /// The path of the file.
  let path: String

  var name: String { "folder exists" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    let folder = URL(filePath: path).deletingLastPathComponent().path
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder)
    return exists && isFolder.boolValue
      ? .satisfied : .failed(FileProblem.noFolder(folder, path: path))
  }
}
