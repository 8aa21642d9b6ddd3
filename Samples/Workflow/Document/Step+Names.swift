extension Step {
  /// The longest name of a file, with room for an ending: file systems take 255 bytes.
  static let fileNameLimit = 200

  /// The name of files that are about this step, without an ending: `logs/STEP.log`.
  ///
  /// Characters that a file system may not take, or that a shell would have to quote, are `_`. A file
  /// in which two steps have the same one, capital and small letters aside, is refused.
  public var fileName: String { Self.fileName(for: id) }

  /// The name of files about a step with that id.
  package static func fileName(for id: String) -> String {
    let bytes = id.unicodeScalars.map { isPlain($0) ? UInt8($0.value) : UInt8(ascii: "_") }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-", "@", ",", "+", "=": true
    default: false
    }
  }
}
