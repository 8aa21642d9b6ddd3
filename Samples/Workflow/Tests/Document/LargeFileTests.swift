import Foundation
import Testing
import WorkflowDocument

/// Files with many steps are read as quickly as they are long.
@Suite struct `A large file` {
  @Test func `has 10,000 steps with 20,000 needs`() throws {
    var text = "steps:\n"
    for index in 0..<10_000 {
      text += "  - id: s\(index)\n    command: [\"true\"]\n    outputs: [v]\n"
      if index > 0 {
        let needs = index < 3 ? "s\(index - 1)" : "s\(index - 1), s\(index - 3)"
        text += "    needs: [\(needs)]\n    env: {V: \"${{ steps.s\(index / 3).v }}\"}\n"
      }
    }
    let clock = ContinuousClock()
    let start = clock.now
    let workflow = try WorkflowFile.workflow(from: text, name: "large")
    print("10,000 steps were read in \(start.duration(to: clock.now))")
    #expect(workflow.steps.count == 10_000)
    #expect(workflow.steps.map(\.needs.count).reduce(0, +) == 19_996)
    #expect(try workflow.only(["s9999"]).steps.count == 10_000)
  }

  @Test func `has a cycle of 10,000 steps, which is shown by its ends`() throws {
    var text = "steps:\n"
    for index in 0..<10_000 {
      text += "  - {id: s\(index), command: x, needs: s\((index + 1) % 10_000)}\n"
    }
    let error = #expect(throws: WorkflowFile.Mistakes.self) {
      try WorkflowFile.workflow(from: text, name: "large")
    }
    #expect(
      error?.diagnostics.map(\.message) == [
        "steps need each other in a cycle: s0 (line 2) → s1 (line 3) → s2 (line 4) → s3 (line 5) → "
          + "s4 (line 6) → s5 (line 7) → … 9989 more … → s9995 (line 9997) → s9996 (line 9998) → "
          + "s9997 (line 9999) → s9998 (line 10000) → s9999 (line 10001) → s0 (line 2)"
      ]
    )
  }

  @Test func `has 10,000 misspelt needs`() throws {
    var text = "steps:\n"
    for index in 0..<10_000 { text += "  - {id: step\(index), command: x, needs: setp\(index)}\n" }
    let error = #expect(throws: WorkflowFile.Mistakes.self) {
      try WorkflowFile.workflow(from: text, name: "large")
    }
    #expect(error?.diagnostics.count == 10_000)
    #expect(error?.diagnostics.first?.suggestion == "did you mean ‘step0’?")
  }

  @Test func `has matrices that need each other too often`() throws {
    let axis = "[\((0..<1000).map(String.init).joined(separator: ", "))]"
    var text = "steps:\n  - {id: s0, command: x, matrix: {n: \(axis)}}\n"
    for index in 1...3 {
      text += "  - {id: s\(index), command: x, matrix: {n: \(axis)}, needs: s\(index - 1)}\n"
    }
    let error = #expect(throws: WorkflowFile.Mistakes.self) {
      try WorkflowFile.workflow(from: text, name: "large")
    }
    #expect(
      error?.diagnostics.map(\.message) == ["combinations need each other more than 1000000 times"]
    )
  }
}

/// The files that ship with the sample.
@Suite struct `An example` {
  @Test func `is read without a mistake`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Examples")
    let files = try FileManager.default
      .contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "yml" }
    #expect(files.count >= 4)
    for file in files {
      do {
        let bytes = Array(try Data(contentsOf: file))
        _ = try WorkflowFile.workflow(fromUTF8: bytes, name: "example")
      } catch let error as WorkflowFile.Mistakes {
        Issue.record("\(error.text(file: file.lastPathComponent))")
      }
    }
  }
}
