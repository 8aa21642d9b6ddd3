extension JournalFile {
  /// The calls that bring lines to the disk, which tests watch and let fail.
  struct Disk: Sendable {
    var write: @Sendable (OpenFile, [UInt8]) throws(SystemCallError) -> Void = {
      (file, bytes) throws(SystemCallError) in try file.write(bytes)
    }
    var synchronize: @Sendable (OpenFile) throws(SystemCallError) -> Void = {
      (file) throws(SystemCallError) in try file.synchronize()
    }
  }
}
