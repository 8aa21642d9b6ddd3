import Testing
import WorkflowDocument

@testable import workflow

@Suite struct `A dry run` {
  private func lines(_ file: String) throws -> [String] {
    let workflow = try WorkflowFile.workflow(from: file, name: "w")
    return DryRun(workflow).lines.dropFirst().map(\.text)
  }

  @Test func `has the values of each combination where the file has their names`() throws {
    #expect(
      try lines(
        """
        steps:
          - id: t
            matrix: {os: [linux, macos]}
            command: ./test.sh ${{ matrix.os }} ${{ run.id }}
            cwd: on-${{ matrix.os }}
            when: {missing: "${{ matrix.os }}.done"}
            on-rollback: [rm, "${{ matrix.os }}.done"]
        """
      ) == [
        "  t@linux  ./test.sh linux ${{ run.id }}  "
          + "# when {missing: linux.done}; in on-linux; undone by rm linux.done",
        "  t@macos  ./test.sh macos ${{ run.id }}  "
          + "# when {missing: macos.done}; in on-macos; undone by rm macos.done",
      ]
    )
  }

  @Test func `says of a step all that holds for it`() throws {
    #expect(
      try lines(
        """
        resources: {cpu: 4}
        steps:
          - {id: a, command: make}
          - id: b
            needs: a
            command: "true"
            when: {outcome: failed(a)}
            require: {exists: Makefile}
            retry: {attempts: 3, total: 60s}
            timeout: 5m
            exclusive: database
            uses: {cpu: 2}
            rate: {registry: 10/min}
        """
      ) == [
        "  a  make",
        "  b  true  # needs a; when {outcome: \"failed(a)\"}; require {exists: Makefile}; 3 attempts; "
          + "attempts for 1 min; at most 5 min; alone with database; uses {cpu: 2}; "
          + "rate {registry: 10/1m}",
      ]
    )
  }
}
