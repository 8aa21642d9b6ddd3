import Testing

/// What is wrong with the names by which parts of a file refer to each other.
@Suite struct `A mistake in a name` {
  @Test(arguments: [
    FileMistake(
      "a step that there is not",
      """
      steps:
        - {id: build, command: x}
        - {id: test, command: x, needs: biuld}
        - {id: ship, command: x, needs: [build, test, build, packaging]}
      """,
      """
      f.yml:3:35: error: the step ‘test’ needs ‘biuld’, which doesn’t exist
       3 |   - {id: test, command: x, needs: biuld}
         |                                   ^
         help: did you mean ‘build’?

      f.yml:4:49: error: ‘needs’ has ‘build’ twice
       4 |   - {id: ship, command: x, needs: [build, test, build, packaging]}
         |                                                 ^

      f.yml:4:56: error: the step ‘ship’ needs ‘packaging’, which doesn’t exist
       4 |   - {id: ship, command: x, needs: [build, test, build, packaging]}
         |                                                        ^
      """
    ),
    FileMistake(
      "a variable without a value",
      "env: {A: \"\", B: null}\nsteps: [{id: a, command: x, env: {C: ~, D: }}]\n",
      """
      f.yml:1:14: error: the variable ‘B’ has no value
       1 | env: {A: "", B: null}
         |              ^
         help: an empty one is written ‘B: ""’, this word ‘"null"’

      f.yml:2:35: error: the variable ‘C’ has no value
       2 | steps: [{id: a, command: x, env: {C: ~, D: }}]
         |                                   ^
         help: an empty one is written ‘C: ""’, this word ‘"~"’
      """
    ),
    FileMistake(
      "a step that needs itself",
      "steps:\n  - {id: a, command: x, needs: [a]}\n",
      """
      f.yml:2:33: error: the step ‘a’ needs itself
       2 |   - {id: a, command: x, needs: [a]}
         |                                 ^
      """
    ),
    FileMistake(
      "two cycles",
      """
      steps:
        - {id: one, command: x, needs: two}
        - {id: two, command: x, needs: [free, three]}
        - {id: three, command: x, needs: [one]}
        - {id: free, command: x}
        - {id: p, command: x, needs: q}
        - {id: q, command: x, needs: p}
      """,
      """
      f.yml:2:34: error: steps need each other in a cycle: one (line 2) → two (line 3) → three (line 4) \
      → one (line 2)
       2 |   - {id: one, command: x, needs: two}
         |                                  ^
         help: one of these needs has to go

      f.yml:6:32: error: steps need each other in a cycle: p (line 6) → q (line 7) → p (line 6)
       6 |   - {id: p, command: x, needs: q}
         |                                ^
         help: one of these needs has to go
      """
    ),
    FileMistake(
      "two steps of one name",
      """
      steps:
        - {id: a, command: x}
        - {id: b, command: x}
        - {id: a, command: y}
      """,
      """
      f.yml:4:10: error: two steps are called ‘a’; the first is in line 2
       4 |   - {id: a, command: y}
         |          ^
      """
    ),
    FileMistake(
      "two steps with one log",
      """
      steps:
        - {id: Build, command: x}
        - {id: build, command: x}
        - {id: t, command: x, matrix: {a: [x y, x/y]}}
        - {id: u, command: x, matrix: {a: [für, fur, 日本, 日曜, ä, Ä]}}
      """,
      """
      f.yml:3:10: error: ‘build’ and ‘Build’ of line 2 would have one log
       3 |   - {id: build, command: x}
         |          ^
         help: names differ in more than capital and small letters

      f.yml:4:33: error: the combinations ‘t@x y’ and ‘t@x/y’ would have one log
       4 |   - {id: t, command: x, matrix: {a: [x y, x/y]}}
         |                                 ^
         help: let their values differ in letters, digits or ‘._+=-’

      f.yml:5:33: error: the combinations ‘u@ä’ and ‘u@Ä’ would have one log
       5 |   - {id: u, command: x, matrix: {a: [für, fur, 日本, 日曜, ä, Ä]}}
         |                                 ^
         help: let their values differ in letters, digits or ‘._+=-’
      """
    ),
    FileMistake(
      "a combination that there is not",
      """
      steps:
        - {id: test, command: x, matrix: {os: [linux, macos]}}
        - {id: ship, command: x, needs: test@windows}
        - {id: pack, command: x, needs: "test@${{ matrix.os }}", matrix: {os: [linux, bsd]}}
      """,
      """
      f.yml:3:35: error: the step ‘test’ has no combination ‘test@windows’
       3 |   - {id: ship, command: x, needs: test@windows}
         |                                   ^
         help: there are test@linux, test@macos

      f.yml:4:35: error: the step ‘test’ has no combination ‘test@bsd’
       4 |   - {id: pack, command: x, needs: "test@${{ matrix.os }}", matrix: {os: [linux, bsd]}}
         |                                   ^
         help: there are test@linux, test@macos
      """
    ),
    FileMistake(
      "a combination of two values without quotes",
      """
      steps:
        - {id: test, command: x, matrix: {os: [linux], cpu: [arm]}}
        - {id: ship, command: x, needs: [test@linux,arm]}
      """,
      """
      f.yml:3:47: error: the step ‘ship’ needs ‘arm’, which doesn’t exist
       3 |   - {id: ship, command: x, needs: [test@linux,arm]}
         |                                               ^
         help: a combination is put in quotes: ‘"test@linux,arm"’
      """
    ),
    FileMistake(
      "a need that depends on more than the matrix",
      """
      steps:
        - {id: test, command: x, matrix: {os: [linux]}}
        - {id: ship, command: x, needs: "test@${{ env.OS }}"}
        - {id: pack, command: x, needs: "test@${{ matrix.so }}", matrix: {os: [linux]}}
      """,
      """
      f.yml:3:35: error: ‘needs’ can only have values of the matrix
       3 |   - {id: ship, command: x, needs: "test@${{ env.OS }}"}
         |                                   ^
         help: like ‘needs: build@${{ matrix.os }}’

      f.yml:4:45: error: the matrix has no axis ‘so’
       4 |   - {id: pack, command: x, needs: "test@${{ matrix.so }}", matrix: {os: [linux]}}
         |                                             ^
         help: there are ‘os’
      """
    ),
    FileMistake(
      "a parameter that there is not",
      """
      parameters: {version: 1.0}
      env: {V: "${{ parameters.verson }}"}
      steps: [{id: a, command: "echo ${{ parameters.target }}"}]
      """,
      """
      f.yml:2:15: error: there is no parameter ‘verson’
       2 | env: {V: "${{ parameters.verson }}"}
         |               ^
         help: did you mean ‘version’?

      f.yml:3:36: error: there is no parameter ‘target’
       3 | steps: [{id: a, command: "echo ${{ parameters.target }}"}]
         |                                    ^
         help: declare it at the top: ‘parameters: {target: DEFAULT}’, or without a default
      """
    ),
    FileMistake(
      "resources",
      """
      resources: {cpu: 4, memory: 8GiB}
      steps:
        - {id: a, command: x, uses: {cpus: 1}}
        - {id: b, command: x, uses: {cpu: 5}}
        - {id: c, command: x, uses: {memory: 2}}
        - {id: d, command: x, uses: {licence: 1}}
      """,
      """
      f.yml:3:32: error: there is no resource ‘cpus’
       3 |   - {id: a, command: x, uses: {cpus: 1}}
         |                                ^
         help: did you mean ‘cpu’?

      f.yml:4:37: error: there are 4 of ‘cpu’, not the 5 that the step uses
       4 |   - {id: b, command: x, uses: {cpu: 5}}
         |                                     ^

      f.yml:5:40: error: ‘memory’ is counted in bytes, not in pieces
       5 |   - {id: c, command: x, uses: {memory: 2}}
         |                                        ^
         help: there are 8GiB of it

      f.yml:6:32: error: there is no resource ‘licence’
       6 |   - {id: d, command: x, uses: {licence: 1}}
         |                                ^
         help: there are ‘cpu’ and ‘memory’
      """
    ),
    FileMistake(
      "a resource without any declared",
      "steps:\n  - {id: a, command: x, uses: {cpu: 2}}\n",
      """
      f.yml:2:32: error: there is no resource ‘cpu’
       2 |   - {id: a, command: x, uses: {cpu: 2}}
         |                                ^
         help: declare it at the top: ‘resources: {cpu: 2}’
      """
    ),
    FileMistake(
      "places that are none",
      """
      steps:
        - id: a
          command: |
            echo ${{ env.A }} ${{ matirx.os }}
            echo ${{ }} ${{ run.name }}
            echo ${{ steps.build }} ${{ env.a-b }} ${{ env.A
      """,
      """
      f.yml:4:29: error: ‘matirx.os’ isn’t a value
       4 |       echo ${{ env.A }} ${{ matirx.os }}
         |                             ^
         help: did you mean ‘matrix’?

      f.yml:5:16: error: the place is empty
       5 |       echo ${{ }} ${{ run.name }}
         |                ^
         help: like ‘${{ matrix.os }}’

      f.yml:5:23: error: ‘run.name’ isn’t a value of a run
       5 |       echo ${{ }} ${{ run.name }}
         |                       ^
         help: did you mean ‘run.id’?

      f.yml:6:16: error: ‘steps.build’ isn’t an output of a step
       6 |       echo ${{ steps.build }} ${{ env.a-b }} ${{ env.A
         |                ^
         help: like ‘steps.build.version’

      f.yml:6:35: error: ‘env.a-b’ isn’t a variable
       6 |       echo ${{ steps.build }} ${{ env.a-b }} ${{ env.A
         |                                   ^
         help: like ‘env.HOME’

      f.yml:6:46: error: ‘${{’ is never closed
       6 |       echo ${{ steps.build }} ${{ env.a-b }} ${{ env.A
         |                                              ^
         help: close it with ‘}}’
      """
    ),
    FileMistake(
      "values that there are not",
      """
      steps:
        - {id: a, command: x, outputs: [version]}
        - {id: m, command: x, outputs: [v], matrix: {os: [linux]}}
        - id: b
          needs: [a, m]
          command: >-
            echo ${{ matrix.os }} ${{ steps.a.verison }}
            ${{ steps.c.x }} ${{ steps.m.v }}
        - id: c
          command: echo ${{ steps.a.version }} ${{ steps.c.x }} ${{ matrix.so }}
          matrix: {os: [linux]}
      """,
      """
      f.yml:7:16: error: the step ‘b’ has no matrix
       7 |       echo ${{ matrix.os }} ${{ steps.a.verison }}
         |                ^

      f.yml:7:33: error: the step ‘a’ has no output ‘verison’
       7 |       echo ${{ matrix.os }} ${{ steps.a.verison }}
         |                                 ^
         help: did you mean ‘version’?

      f.yml:8:11: error: ‘c’ has a matrix, so which of its combinations gives ‘x’ isn’t known
       8 |       ${{ steps.c.x }} ${{ steps.m.v }}
         |           ^
         help: need only one of them: ‘needs: "c@linux"’

      f.yml:8:11: error: the step ‘b’ refers to ‘c’, but doesn’t need it
       8 |       ${{ steps.c.x }} ${{ steps.m.v }}
         |           ^
         help: add ‘c’ to its ‘needs’

      f.yml:8:28: error: ‘m’ has a matrix, so which of its combinations gives ‘v’ isn’t known
       8 |       ${{ steps.c.x }} ${{ steps.m.v }}
         |                            ^
         help: need only one of them: ‘needs: "m@linux"’

      f.yml:10:23: error: the step ‘c’ refers to ‘a’, but doesn’t need it
       10 |     command: echo ${{ steps.a.version }} ${{ steps.c.x }} ${{ matrix.so }}
          |                       ^
          help: add ‘a’ to its ‘needs’

      f.yml:10:46: error: ‘c’ has a matrix, so which of its combinations gives ‘x’ isn’t known
       10 |     command: echo ${{ steps.a.version }} ${{ steps.c.x }} ${{ matrix.so }}
          |                                              ^

      f.yml:10:46: error: the step ‘c’ refers to itself
       10 |     command: echo ${{ steps.a.version }} ${{ steps.c.x }} ${{ matrix.so }}
          |                                              ^
          help: only its ‘on-rollback’ can have what it gives

      f.yml:10:63: error: the matrix has no axis ‘so’
       10 |     command: echo ${{ steps.a.version }} ${{ steps.c.x }} ${{ matrix.so }}
          |                                                               ^
          help: there are ‘os’
      """
    ),
    FileMistake(
      "a variable of the workflow that depends on a step",
      "env: {A: \"${{ matrix.os }}\"}\nsteps: [{id: a, command: x}]\n",
      """
      f.yml:1:15: error: the variables of a workflow can’t depend on a step
       1 | env: {A: "${{ matrix.os }}"}
         |               ^
         help: move the variable to the steps that it is for
      """
    ),
    FileMistake(
      "a value in a here-document that expands nothing",
      """
      steps:
        - id: a
          command: |
            cat <<'END'
            ${{ run.id }}
            END
      """,
      """
      f.yml:5:7: error: a value can’t be put into a here-document whose end is in quotes
       5 |       ${{ run.id }}
         |       ^
         help: write the word after ‘<<’ without quotes
      """
    ),
  ])
  func `is shown as a compiler shows it`(mistake: FileMistake) { mistake.check() }

  private static func outcome(_ kind: String, _ expression: String, _ mark: String) -> FileMistake {
    let start = """
      steps:
        - {id: build, command: x}
        - {id: test, command: x, needs: build}
        - {id: other, command: x}
        - id: a
          needs: test
          command: x
          when:

      """
    return FileMistake(kind, start + "      outcome: \(expression)", mark)
  }

  @Test(arguments: [
    outcome(
      "an outcome that there is not",
      "failed(test) || success(build)",
      """
      f.yml:9:32: error: ‘success’ isn’t an outcome
       9 |       outcome: failed(test) || success(build)
         |                                ^
         help: did you mean ‘succeeded’?
      """
    ),
    outcome(
      "an operator that there is not",
      "\"failed(test) and failed(build)\"",
      """
      f.yml:9:30: error: ‘&&’ or ‘||’ is expected here, not ‘and’
       9 |       outcome: "failed(test) and failed(build)"
         |                              ^
         help: did you mean ‘&&’?
      """
    ),
    outcome(
      "half an operator",
      "failed(test) & failed(build)",
      """
      f.yml:9:29: error: ‘&&’ or ‘||’ is expected here, not ‘&’
       9 |       outcome: failed(test) & failed(build)
         |                             ^
         help: did you mean ‘&&’?
      """
    ),
    outcome(
      "a parenthesis that is never closed",
      "'failed(test) && (failed(build)'",
      """
      f.yml:9:33: error: the ‘(’ is never closed
       9 |       outcome: 'failed(test) && (failed(build)'
         |                                 ^
      """
    ),
    outcome(
      "an expression that ends too early",
      "failed(test) ||",
      """
      f.yml:9:31: error: an outcome is expected at the end
       9 |       outcome: failed(test) ||
         |                               ^
         help: like ‘failed(test)’
      """
    ),
    outcome(
      "an outcome of nothing",
      "failed()",
      """
      f.yml:9:23: error: the name of a step is expected here
       9 |       outcome: failed()
         |                       ^
      """
    ),
    outcome(
      "an outcome of a step that there is not",
      "|-\n        failed(test) ||\n        failed(tset)",
      """
      f.yml:11:16: error: there is no step ‘tset’
       11 |         failed(tset)
          |                ^
          help: did you mean ‘test’?
      """
    ),
    outcome(
      "an outcome of a step that isn't needed",
      "failed(build) || failed(other)",
      """
      f.yml:9:40: error: the step ‘a’ refers to ‘other’, but doesn’t need it
       9 |       outcome: failed(build) || failed(other)
         |                                        ^
         help: add ‘other’ to its ‘needs’
      """
    ),
  ])
  func `of an outcome is shown in its expression`(mistake: FileMistake) { mistake.check() }
}
