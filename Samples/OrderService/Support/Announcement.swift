import Foundation

/// Lines for the standard output that a program on the other end of a pipe is to have at once.
package enum Announcement {
  /// Writes a line, past the buffer that `print` fills.
  ///
  /// - Parameter line: Without a line break.
  package static func write(_ line: String) {
    // A reader that has gone doesn't end the service.
    try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
  }

  /// Writes a line to the standard error: something that a person may have to mend.
  ///
  /// - Parameter line: Without a line break.
  package static func complain(_ line: String) {
    try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
  }
}
