import Foundation
import Testing

@testable import WorkflowRunner

@Suite struct StepOutputsTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func read(_ text: String, _ names: [String]) throws -> [String: String] {
    try folder.write(text, to: "outputs")
    return try StepOutputs.take(folder.path + "/outputs", declared: names)
  }

  @Test func `Values are what is behind the first equals sign, and the last one counts`() throws {
    #expect(try read("a=1\n\nb= x=y \r\na=2", ["a", "b"]) == ["a": "2", "b": " x=y "])
    #expect(try read("a=\n", ["a"]) == ["a": ""])
    #expect(try read("", []) == [:])
  }

  @Test func `A file of outputs is removed after reading, even if it has a mistake`() throws {
    let path = folder.path + "/outputs"
    try folder.write("a=1\n", to: "outputs")
    #expect(try StepOutputs.take(path, declared: ["a"]) == ["a": "1"])
    #expect(!FileManager.default.fileExists(atPath: path))
    try folder.write("b=1\n", to: "outputs")
    #expect(throws: OutputProblem.undeclared(name: "b", line: 1)) {
      try StepOutputs.take(path, declared: ["a"])
    }
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try StepOutputs.take(path, declared: []).isEmpty)
  }

  @Test func `What is wrong is named with its line`() {
    #expect(throws: OutputProblem.noName(line: 2)) { try read("a=1\nb\n", ["a"]) }
    #expect(throws: OutputProblem.noName(line: 1)) { try read("=1\n", ["a"]) }
    #expect(throws: OutputProblem.undeclared(name: "b", line: 2)) { try read("a=1\nb=2", ["a"]) }
    #expect(throws: OutputProblem.zeroCharacter(name: "a", line: 1)) { try read("a=b\0c", ["a"]) }
    #expect(throws: OutputProblem.missing(name: "b")) { try read("a=1\n", ["a", "b"]) }
    #expect(throws: OutputProblem.missing(name: "a")) {
      try StepOutputs.take("/no/such/file", declared: ["a"])
    }
  }

  @Test func `A file that is large or no text is refused`() throws {
    let large = "a=" + String(repeating: "x", count: StepOutputs.limit)
    #expect(throws: OutputProblem.tooLarge(bytes: large.utf8.count)) { try read(large, ["a"]) }
    try Data([0x61, 0x3D, 0xFF]).write(to: URL(filePath: folder.path + "/binary"))
    #expect(throws: OutputProblem.noText) {
      try StepOutputs.take(folder.path + "/binary", declared: ["a"])
    }
  }
}
