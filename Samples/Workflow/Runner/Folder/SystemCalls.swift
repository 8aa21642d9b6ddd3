#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#elseif canImport(Darwin)
package import Darwin
#endif

/// A call of the operating system that failed.
package struct SystemCallError: Error, Equatable, CustomStringConvertible {
  package let code: Int32

  init(code: Int32) { self.code = code }
  /// The error of the call before.
  package init() { code = errno }

  var isMissing: Bool { code == ENOENT || code == ENOTDIR }

  /// Said of a disk, or of somebody's share of it, that has no room left.
  static let fullDisk = "the disk is full"

  var isFullDisk: Bool { code == ENOSPC || code == EDQUOT }

  /// What was to be read is no file that can be.
  static let noFile = SystemCallError(code: -1)

  /// What the system calls it, without a full stop.
  package var description: String {
    if isFullDisk { return Self.fullDisk }
    if self == .noFile { return "it is a pipe, a device or a folder, and not a file" }
    return systemText
  }

  private var systemText: String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let base = buffer.baseAddress else { return "error \(code)" }
      return strerror_r(code, base, buffer.count) == 0 ? String(cString: base) : "error \(code)"
    }
  }
}

/// A file that is open, with its calls; closed with the object.
package final class OpenFile: Sendable {
  let descriptor: Int32

  /// Opens a file; it isn't passed on to processes that are started.
  package init(_ path: String, _ flags: Int32, mode: mode_t = 0o666) throws(SystemCallError) {
    var result: Int32
    repeat { result = open(path, flags | O_CLOEXEC, mode) } while result < 0 && errno == EINTR
    guard result >= 0 else { throw SystemCallError() }
    descriptor = result
  }

  /// Opens a file for reading; what is none, such as a pipe that nobody writes to, is refused.
  convenience init(reading path: String) throws(SystemCallError) {
    // A pipe would be waited for otherwise.
    try self.init(path, O_RDONLY | O_NONBLOCK)
    try checkIsFile()
  }

  /// Opens a file for writing at its end; what is no file is refused, and not waited for either.
  convenience init(appendingTo path: String) throws(SystemCallError) {
    do throws(SystemCallError) {
      try self.init(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK)
    } catch {
      // A pipe that nobody reads, or a socket.
      throw error.code == ENXIO ? .noFile : error
    }
    try checkIsFile()
    // Commands have it as their output.
    if fcntl(descriptor, F_SETFL, O_APPEND) < 0 { throw SystemCallError() }
  }

  deinit { close(descriptor) }

  private func status() throws(SystemCallError) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemCallError() }
    return status
  }

  private func checkIsFile() throws(SystemCallError) {
    if try status().st_mode & S_IFMT != S_IFREG { throw .noFile }
  }

  /// How many bytes the file has.
  func size() throws(SystemCallError) -> Int { Int(try status().st_size) }

  /// Writes all of the bytes.
  package func write(_ bytes: some Collection<UInt8>) throws(SystemCallError) {
    var rest = ArraySlice(bytes)
    try write(takingFrom: &rest)
  }

  /// Writes all of the bytes, and takes away those that are in the file: after an error the others
  /// are left.
  func write(takingFrom bytes: inout ArraySlice<UInt8>) throws(SystemCallError) {
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { raw in
        #if canImport(Darwin)
        Darwin.write(descriptor, raw.baseAddress, raw.count)
        #elseif canImport(Musl)
        Musl.write(descriptor, raw.baseAddress, raw.count)
        #else
        Glibc.write(descriptor, raw.baseAddress, raw.count)
        #endif
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemCallError()
      }
      bytes.removeFirst(count)
    }
  }

  /// Writes over what is at a place.
  func write(_ bytes: [UInt8], at offset: Int) throws(SystemCallError) {
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes { raw in
        pwrite(descriptor, raw.baseAddress, raw.count, off_t(offset + done))
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemCallError()
      }
      done += count
    }
  }

  /// Reads what is at a place; fewer bytes than asked for at the end of the file.
  func read(atMost count: Int, at offset: Int) throws(SystemCallError) -> [UInt8] {
    var failure: SystemCallError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, size in
      var result: Int
      repeat {
        result = pread(descriptor, buffer.baseAddress, count, off_t(offset))
      } while result < 0 && errno == EINTR
      if result < 0 { failure = SystemCallError() }
      size = max(result, 0)
    }
    if let failure { throw failure }
    return bytes
  }

  /// Reads all of the file.
  func readAll() throws(SystemCallError) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let more = try read(atMost: 1 << 16, at: bytes.count)
      if more.isEmpty { return bytes }
      bytes += more
    }
  }

  /// Cuts the file.
  func truncate(to length: Int) throws(SystemCallError) {
    guard ftruncate(descriptor, off_t(length)) == 0 else { throw SystemCallError() }
  }

  /// Returns when all that was written is where a loss of power doesn't reach it.
  func synchronize() throws(SystemCallError) {
    #if canImport(Darwin)
    let result = fcntl(descriptor, F_FULLFSYNC) == 0 ? 0 : fsync(descriptor)
    #else
    let result = fdatasync(descriptor)
    #endif
    guard result == 0 else { throw SystemCallError() }
  }

  /// The same for the names in a folder.
  func synchronizeFolder() throws(SystemCallError) {
    // Not all file systems know of it.
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw SystemCallError() }
  }

  /// Takes the lock of the file if no other process, nor another opening of the file, has it.
  ///
  /// - Parameter isShared: Whether others may have it as well that want it to be shared.
  /// - Returns: Whether it was free.
  /// - Throws: What the system says.
  func lockIfFree(isShared: Bool = false) throws(SystemCallError) -> Bool {
    if flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 { return true }
    guard errno == EWOULDBLOCK else { throw SystemCallError() }
    return false
  }
}

extension OpenFile {
  /// Opens for writing; what was there is gone.
  package static var writingAnew: Int32 { O_WRONLY | O_CREAT | O_TRUNC }
}
