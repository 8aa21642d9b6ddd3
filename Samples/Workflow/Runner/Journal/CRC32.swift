/// The checksum of gzip and PNG: reflected, with the polynomial 0xEDB88320.
///
/// A journal uses it against torn writes and flipped bits, not against people.
struct CRC32 {
  private static let table: [UInt32] = (0..<256)
    .map { byte in
      (0..<8).reduce(UInt32(byte)) { value, _ in
        value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1
      }
    }

  private var state: UInt32

  /// Begins with nothing, or goes on where another checksum ended.
  init(after checksum: UInt32 = 0) { state = ~checksum }

  /// The checksum of what came until now.
  var checksum: UInt32 { ~state }

  mutating func update(_ bytes: some Sequence<UInt8>) {
    for byte in bytes {
      state = state >> 8 ^ Self.table[Int(UInt8(truncatingIfNeeded: state) ^ byte)]
    }
  }

  static func checksum(_ bytes: some Sequence<UInt8>, after checksum: UInt32 = 0) -> UInt32 {
    var crc = CRC32(after: checksum)
    crc.update(bytes)
    return crc.checksum
  }
}
