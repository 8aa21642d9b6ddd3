import EarthquakeWorkflow
import Testing

@Suite struct `A number of bytes` {
  @Test(arguments: [
    ("1", 1), ("4096", 4_096), ("500kB", 500_000), ("50MB", 50_000_000), ("50 mb", 50_000_000),
    ("1.5MB", 1_500_000), ("2G", 2_000_000_000), ("1KiB", 1_024), ("1.5GiB", 1_610_612_736),
    ("3TB", 3_000_000_000_000), (" 7 B ", 7), ("1.9", 1),
  ])
  func `is read as people write it`(text: String, bytes: Int64) {
    #expect(ByteCount(text)?.bytes == bytes)
  }

  @Test(arguments: [
    "", "MB", "0", "0.5", "-1", "5XB", "5 M B", "1e9", "1,5MB", ".5MB", "5iB", "10000000TB",
    "99999999999999999999", "٣MB", "50MB!",
  ])
  func `is refused when it is anything else`(text: String) {
    #expect(ByteCount(text) == nil)
  }

  @Test(
    arguments: [
      (1, "1 byte"), (999, "999 bytes"), (1_000, "1 kB"), (1_001, "1,001 bytes"),
      (50_000_000, "50 MB"), (1_500_000, "1,500 kB"), (2_000_000_000, "2 GB"),
    ] as [(Int64, String)]
  )
  func `is written without losing a byte`(bytes: Int64, text: String) {
    #expect(ByteCount(bytes: bytes).description == text)
    #expect(ByteCount(bytes: bytes) < ByteCount(bytes: bytes + 1))
  }
}
