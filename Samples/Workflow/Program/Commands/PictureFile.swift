import AdvancedOperations
import Foundation

/// A file that gets a drawing.
enum PictureFile {
  static func write(_ graph: OperationGraph, to path: String) throws {
    switch URL(filePath: path).pathExtension {
    case "dot": try write(graph.dot, to: path)
    case "mmd": try write(graph.mermaid, to: path)
    default: try write(GraphDrawing(graph).svg, to: path)
    }
  }

  static func write(_ text: String, to path: String) throws {
    do {
      try Data(text.utf8).write(to: URL(filePath: path))
    } catch {
      throw Complaint(
        .failure,
        "\(path) can't be written: \(FileReason.of(error, missing: "folder"))"
      )
    }
  }
}

/// Why the system didn't do something with a file, in its words.
enum FileReason {
  static func of(_ error: any Error, missing: String = "file") -> String {
    let error = error as NSError
    let posix = (error.userInfo[NSUnderlyingErrorKey] as? NSError) ?? error
    if posix.domain == NSPOSIXErrorDomain { return String(cString: strerror(Int32(posix.code))) }
    switch error.code {
    case CocoaError.fileReadNoSuchFile.rawValue, CocoaError.fileNoSuchFile.rawValue:
      return "there is no such \(missing)"
    case CocoaError.fileReadNoPermission.rawValue, CocoaError.fileWriteNoPermission.rawValue:
      return "permission denied"
    default: return error.localizedDescription
    }
  }
}
