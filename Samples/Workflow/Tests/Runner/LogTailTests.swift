import Foundation
import Testing

@testable import WorkflowRunner

@Suite struct LogTailTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path + "/log" }

  @Test func `reads a piece at a time, to the end of an attempt and no further`() throws {
    let text = (1...20_000).map { "\($0)\n" }.joined() + "rest"
    try folder.write("before\n" + text + "of another", to: "log")
    var tail = LogTail(path, from: 7)
    let end = 7 + text.utf8.count
    var lines: [String] = []
    var pieces = 1
    while try tail.read(upTo: end, { lines.append($0) }) { pieces += 1 }
    #expect(lines == (1...20_000).map { "\($0)" } + ["rest"])
    #expect(pieces == (text.utf8.count + LogTail.pieceSize - 1) / LogTail.pieceSize)
  }

  @Test func `keeps a line that isn't whole until it is, or the attempt has ended`() throws {
    try folder.write("one\ntw", to: "log")
    var tail = LogTail(path, from: 0)
    var lines: [String] = []
    #expect(try !tail.read(upTo: nil) { lines.append($0) })
    #expect(lines == ["one"])
    try folder.write("one\ntwo\nthree", to: "log")
    #expect(try !tail.read(upTo: nil) { lines.append($0) })
    #expect(lines == ["one", "two"])
    #expect(try !tail.read(upTo: 13) { lines.append($0) })
    #expect(lines == ["one", "two", "three"])
  }

  @Test func `says what can't be read any more`() throws {
    try folder.write("one\ntwo\n", to: "log")
    var tail = LogTail(path, from: 4)
    #expect(try !tail.read(upTo: nil) { _ in })
    try FileManager.default.removeItem(atPath: path)
    #expect(throws: LogProblem(reason: "it was removed or cut", bytes: nil)) {
      try tail.read(upTo: LogTail.size(of: path)) { _ in }
    }
    var other = LogTail(path, from: 0)
    let error = #expect(throws: LogProblem.self) { try other.read(upTo: 8) { _ in } }
    #expect(error?.text("log") == "8 bytes of log are not shown: No such file or directory")
    #expect(LogProblem(reason: "", bytes: 0).text("log") == nil)
  }

  @Test func `reports lines of bounded length of what is no text`() throws {
    var bytes = Data(count: 100_000)
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: (0..<1_000).map { _ in UInt8.random(in: 128...255) })
    bytes.append(contentsOf: "\nend\n".utf8)
    try bytes.write(to: URL(filePath: path))
    var tail = LogTail(path, from: 0)
    var lines: [String] = []
    while try tail.read(upTo: bytes.count, { lines.append($0) }) {}
    #expect(lines.last == "end")
    #expect(lines.allSatisfy { $0.utf8.count <= 3 * LineSplitter.limit + 3 })
  }
}
