#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// The stream for messages to the person who runs the program.
package enum StandardError {
  /// Writes a line, immediately and without a buffer.
  package static func write(line: String) { Output.send(line + "\n", to: STDERR_FILENO) }
}

/// Files and pipes that are open for writing.
package enum Output {
  /// Writes a text immediately, and in one call if the system takes all of it.
  ///
  /// If the descriptor doesn't block and is full, the thread waits for it for up to five seconds. Other
  /// errors end the call, because there is no other place to report them.
  package static func send(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
      var (offset, pauses) = (0, 0)
      while offset < bytes.count {
        let rest = unsafe UnsafeBufferPointer(rebasing: bytes[offset...])
        let count = unsafe write(descriptor, rest.baseAddress, rest.count)
        if count >= 0 {
          offset += count
        } else if errno == EAGAIN, pauses < 500 {
          pauses += 1
          MonotonicClock.block(for: .milliseconds(10))
        } else if errno != EINTR {
          return
        }
      }
    }
  }
}

/// The variables that the process was started with.
package enum ProcessEnvironment {
  /// Returns whether a variable is set, and is neither empty nor 0.
  package static func isSet(_ name: String) -> Bool {
    #if canImport(Darwin)
    let value = unsafe Darwin.getenv(name)
    #elseif canImport(Musl)
    let value = unsafe Musl.getenv(name)
    #elseif canImport(Glibc)
    let value = unsafe Glibc.getenv(name)
    #elseif canImport(Android)
    let value = unsafe Android.getenv(name)
    #else
    #error("Add the system's getenv(_:) here.")
    #endif
    guard let value = unsafe value else { return false }
    let text = unsafe String(cString: value)
    return !text.isEmpty && text != "0"
  }
}

/// The system's information about files and volumes.
package enum FileSystem {
  /// The kind of object at a path.
  package enum Kind: Sendable {
    case file, folder, other
  }

  /// Returns the kind of object at a path, behind links; nil if there is no object that the program can see.
  package static func kind(of path: String) -> Kind? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return switch status.st_mode & S_IFMT {
    case S_IFREG: .file
    case S_IFDIR: .folder
    default: .other
    }
  }

  /// Returns whether the program may read the object at a path.
  package static func isReadable(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }

  /// The reason why the system gave no answer.
  package struct Problem: Error {
    /// The error number of the system.
    package let code: Int32
    /// A Boolean value that indicates whether there is no object at the path.
    package var isMissing: Bool { code == ENOENT || code == ENOTDIR }
  }

  /// Returns the number of bytes that an unprivileged program can write to the volume of a path.
  package static func freeSpace(at path: String) -> Result<Int64, Problem> {
    #if canImport(Darwin)
    // Apple's statvfs has 32 bits for the number of blocks, so it can't count the blocks of 16 TiB and more.
    var volume = statfs()
    guard unsafe statfs(path, &volume) == 0 else { return .failure(Problem(code: errno)) }
    let blockSize = UInt64(volume.f_bsize)
    #else
    var volume = statvfs()
    guard unsafe statvfs(path, &volume) == 0 else { return .failure(Problem(code: errno)) }
    let blockSize = UInt64(volume.f_frsize)
    #endif
    let (bytes, isTooMany) = Int64(clamping: UInt64(volume.f_bavail))
      .multipliedReportingOverflow(by: Int64(clamping: blockSize))
    return .success(isTooMany ? .max : bytes)
  }

  /// Returns the text of a small file, such as the files of the kernel; nil if it can't be read.
  static func text(of path: String) -> String? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let length = unsafe read(file, &buffer, buffer.count)
      guard length >= 0 else { return nil }
      if length == 0 { return String(decoding: text, as: UTF8.self) }
      text += buffer[..<length]
    }
  }

  /// Returns the target of a link; nil if there is no link.
  static func target(ofLink path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 256)
    let length = unsafe readlink(path, &buffer, buffer.count)
    guard length >= 0 else { return nil }
    return String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
