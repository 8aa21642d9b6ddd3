import Foundation

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
