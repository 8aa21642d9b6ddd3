import Testing
import WorkflowDocument

/// Where a step may name what it gives itself: in what undoes it, and nowhere else.
@Suite struct `A step’s own output` {
  @Test(arguments: ["", "    matrix: {os: [linux, macos]}\n"])
  func `may be in its on-rollback, also of a combination`(matrix: String) throws {
    let file = """
      steps:
        - id: make
          command: make
      \(matrix)    outputs: [id]
          on-rollback: delete ${{ steps.make.id }}
      """
    let workflow = try WorkflowFile.workflow(from: file, name: "f")
    for step in workflow.steps {
      #expect(
        step.rollback
          == .shell(Template([.text("delete "), .output(step: "make", name: "id")]))
      )
    }
    #expect(workflow.steps.count == (matrix.isEmpty ? 1 : 2))
  }

  @Test(arguments: [
    FileMistake(
      "an output in its on-rollback that it doesn't declare",
      "steps:\n  - {id: a, command: x, outputs: [id], on-rollback: 'undo ${{ steps.a.ip }}'}\n",
      """
      f.yml:2:63: error: the step ‘a’ has no output ‘ip’
       2 |   - {id: a, command: x, outputs: [id], on-rollback: 'undo ${{ steps.a.ip }}'}
         |                                                               ^
         help: there are ‘id’
      """
    ),
    FileMistake(
      "its output in its variables",
      "steps:\n  - {id: a, command: x, outputs: [id], env: {A: '${{ steps.a.id }}'}}\n",
      """
      f.yml:2:54: error: the step ‘a’ refers to itself
       2 |   - {id: a, command: x, outputs: [id], env: {A: '${{ steps.a.id }}'}}
         |                                                      ^
         help: only its ‘on-rollback’ can have what it gives
      """
    ),
    FileMistake(
      "an output of a step in an on-rollback that isn't needed",
      """
      steps:
        - {id: a, command: x, outputs: [id]}
        - {id: b, command: x, on-rollback: 'undo ${{ steps.a.id }}'}
      """,
      """
      f.yml:3:48: error: the step ‘b’ refers to ‘a’, but doesn’t need it
       3 |   - {id: b, command: x, on-rollback: 'undo ${{ steps.a.id }}'}
         |                                                ^
         help: add ‘a’ to its ‘needs’
      """
    ),
  ])
  func `is a mistake elsewhere, and where it isn't declared`(mistake: FileMistake) {
    mistake.check()
  }
}
