import SampleTestSupport
import Testing
import WorkflowDocument

/// A workflow is written so that reading gives the same one.
@Suite struct `A workflow that is written` {
  private func withoutLines(_ workflow: Workflow) -> Workflow {
    var workflow = workflow
    for index in workflow.steps.indices { workflow.steps[index].line = 0 }
    return workflow
  }

  @Test(arguments: Effort.seeds(200))
  func `is read as it was`(seed: UInt64) throws {
    let workflow = RandomWorkflow(seed: seed).workflow
    let text = WorkflowFile.text(of: workflow)
    do {
      let read = try WorkflowFile.workflow(from: text, name: "other")
      let isSame = withoutLines(read) == workflow && WorkflowFile.text(of: read) == text
      #expect(isSame, "\(text)\n\(WorkflowFile.text(of: read))")
    } catch {
      Issue.record("\(error.text(file: "seed \(seed)"))\n\(text)")
    }
  }

  @Test func `is easy to read`() throws {
    let text = """
      name: release
      env: {CI: "true"}
      resources: {cpu: 4, memory: 8GiB}
      steps:
        - id: build
          command: |
            swift build
            swift test
          when: [{exists: Package.swift}, {newer: {inputs: [a, b], outputs: c}}]
          uses: {cpu: 2, memory: 512MiB}
          outputs: [version]
        - id: test
          needs: [build]
          matrix: {os: [linux, macos], swift: ["6.2", "6.3"]}
          command: [./test.sh, "${{ matrix.os }}", "${{ steps.build.version }}"]
          rate: {registry: 10/1m}
          retry: {attempts: 3, delay: 1s500ms, jitter: true}
          timeout: 1h30m
        - id: report
          needs: [test]
          matrix:
            - {os: linux, swift: "6.2"}
            - {os: macos, swift: "6.3"}
          command: ./report.sh
          when: {outcome: "!(failed(test) || skipped(build)) && succeeded(test)"}

      """
    let workflow = try WorkflowFile.workflow(from: text, name: "file")
    #expect(WorkflowFile.text(of: workflow) == text)
  }
}
