import Testing

/// What is wrong with the keys and values of a file.
@Suite struct `A mistake in a step` {
  @Test(arguments: [
    FileMistake(
      "a condition on a variable without a value",
      "steps: [{id: a, command: x, require: {env: {A: \"\", B: null}}}]\n",
      """
      f.yml:1:52: error: the variable ‘B’ has no value
       1 | steps: [{id: a, command: x, require: {env: {A: "", B: null}}}]
         |                                                    ^
         help: an empty one is written ‘B: ""’, this word ‘"null"’
      """
    ),
    FileMistake(
      "a list at the top",
      "- id: a\n  command: x\n",
      """
      f.yml:1:1: error: a file has keys with values at its top, not a list
       1 | - id: a
         | ^
         help: put the list under ‘steps:’
      """
    ),
    FileMistake(
      "no steps",
      "name: x\n",
      """
      f.yml:1:1: error: the workflow has no ‘steps’
       1 | name: x
         | ^
      """
    ),
    FileMistake(
      "steps that are no list",
      "steps:\n  a: {command: x}\n",
      """
      f.yml:2:3: error: ‘steps’ is a list of steps, not keys with values
       2 |   a: {command: x}
         |   ^
         help: begin each step with ‘- id:’
      """
    ),
    FileMistake(
      "a key of the top that there is not",
      "stpes: []\nsteps: [{id: a, command: x}]\n",
      """
      f.yml:1:1: error: a workflow has no key ‘stpes’
       1 | stpes: []
         | ^
         help: did you mean ‘steps’?
      """
    ),
    FileMistake(
      "keys of a step that there are not",
      """
      steps:
        - id: a
          comand: x
          depends_on: b
          color: red
      """,
      """
      f.yml:2:5: error: the step ‘a’ has no ‘command’
       2 |   - id: a
         |     ^
         help: like ‘command: make’

      f.yml:3:5: error: a step has no key ‘comand’
       3 |     comand: x
         |     ^
         help: did you mean ‘command’?

      f.yml:4:5: error: a step has no key ‘depends_on’
       4 |     depends_on: b
         |     ^
         help: did you mean ‘needs’?

      f.yml:5:5: error: a step has no key ‘color’
       5 |     color: red
         |     ^
         help: keys are ‘id’, ‘command’, ‘needs’, ‘when’, ‘require’, ‘exclusive’, ‘uses’, ‘rate’, \
      ‘retry’, ‘timeout’, ‘on-rollback’, ‘env’, ‘cwd’, ‘shell’, ‘interactive’, ‘matrix’ and ‘outputs’
      """
    ),
    FileMistake(
      "keys of other programs",
      """
      steps:
        - id: a
          cmds: x
          deps: b
          continue-on-error: true
      """,
      """
      f.yml:2:5: error: the step ‘a’ has no ‘command’
       2 |   - id: a
         |     ^
         help: like ‘command: make’

      f.yml:3:5: error: a step has no key ‘cmds’
       3 |     cmds: x
         |     ^
         help: did you mean ‘command’?

      f.yml:4:5: error: a step has no key ‘deps’
       4 |     deps: b
         |     ^
         help: did you mean ‘needs’?

      f.yml:5:5: error: a step has no key ‘continue-on-error’
       5 |     continue-on-error: true
         |     ^
         help: end the command with ‘|| true’, or run the workflow with ‘--keep-going’
      """
    ),
    FileMistake(
      "shells that no script can be given to",
      """
      defaults: {shell: "${{ env.SHELL }}"}
      steps:
        - {id: a, command: x, shell: fish}
        - {id: b, command: x, shell: []}
        - {id: c, command: "x ${{ run.id }}", shell: [python3, -c]}
        - {id: d, command: "x ${{ run.id }}", shell: [/bin/dash, -c]}
      """,
      """
      f.yml:1:19: error: ‘shell’ can’t have places
       1 | defaults: {shell: "${{ env.SHELL }}"}
         |                   ^

      f.yml:3:32: error: ‘fish’ isn’t a shell that is known to have the options ‘-e’ and ‘-u’
       3 |   - {id: a, command: x, shell: fish}
         |                                ^
         help: name one of ‘sh’, ‘bash’, ‘dash’, ‘ash’, ‘ksh’, ‘mksh’ and ‘zsh’, or write a list with \
      the arguments before the script, like ‘[python3, -c]’

      f.yml:4:32: error: ‘shell’ is an empty list
       4 |   - {id: b, command: x, shell: []}
         |                                ^

      f.yml:5:5: error: the script of ‘c’ has places, and ‘python3’ isn’t known to expand variables
       5 |   - {id: c, command: "x ${{ run.id }}", shell: [python3, -c]}
         |     ^
         help: give the script its values as variables: ‘env: {VALUE: "${{ … }}"}’
      """
    ),
    FileMistake(
      "no id",
      "steps:\n  - command: x\n",
      """
      f.yml:2:5: error: a step has no ‘id’
       2 |   - command: x
         |     ^
         help: like ‘id: build’
      """
    ),
    FileMistake(
      "a step that is a text",
      "steps:\n  - make\n",
      """
      f.yml:2:5: error: a step has keys with values, not a text
       2 |   - make
         |     ^
         help: keys are ‘id’, ‘command’, ‘needs’, ‘when’, ‘require’, ‘exclusive’, ‘uses’, ‘rate’, \
      ‘retry’, ‘timeout’, ‘on-rollback’, ‘env’, ‘cwd’, ‘shell’, ‘interactive’, ‘matrix’ and ‘outputs’
      """
    ),
    FileMistake(
      "ids that no step can have",
      """
      steps:
        - {id: a/b, command: x}
        - {id: "test@linux", command: x}
        - {id: .a, command: x}
      """,
      """
      f.yml:2:10: error: the id ‘a/b’ has other characters than letters, digits, ‘-’, ‘_’ and ‘.’
       2 |   - {id: a/b, command: x}
         |          ^
         help: like ‘a-b’

      f.yml:3:10: error: the id ‘test@linux’ has other characters than letters, digits, ‘-’, ‘_’ and ‘.’
       3 |   - {id: "test@linux", command: x}
         |          ^
         help: like ‘test-linux’

      f.yml:4:10: error: the id ‘.a’ begins with neither a letter nor a digit
       4 |   - {id: .a, command: x}
         |          ^
      """
    ),
    FileMistake(
      "commands that are none",
      """
      steps:
        - {id: a, command: }
        - {id: b, command: {run: x}}
        - {id: c, command: []}
        - {id: d, command: "  "}
        - {id: e, command: [x, [y]]}
      """,
      """
      f.yml:2:22: error: ‘command’ is a text or a list of texts, not nothing
       2 |   - {id: a, command: }
         |                      ^
         help: like ‘swift build’ or ‘[swift, build]’

      f.yml:3:22: error: ‘command’ is a text or a list of texts, not keys with values
       3 |   - {id: b, command: {run: x}}
         |                      ^
         help: like ‘swift build’ or ‘[swift, build]’

      f.yml:4:22: error: ‘command’ is an empty list
       4 |   - {id: c, command: []}
         |                      ^

      f.yml:5:22: error: ‘command’ is empty
       5 |   - {id: d, command: "  "}
         |                      ^

      f.yml:6:26: error: an argument of ‘command’ is a text, not a list
       6 |   - {id: e, command: [x, [y]]}
         |                          ^
      """
    ),
    FileMistake(
      "a rollback that is no command",
      "steps:\n  - {id: a, command: x, on-rollback: {rm: y}}\n",
      """
      f.yml:2:38: error: ‘on-rollback’ is a text or a list of texts, not keys with values
       2 |   - {id: a, command: x, on-rollback: {rm: y}}
         |                                      ^
         help: like ‘swift build’ or ‘[swift, build]’
      """
    ),
    FileMistake(
      "variables that no program can have",
      "steps:\n  - {id: a, command: x, env: {1A: x, WORKFLOW_RUN: y, B: [z]}}\n",
      """
      f.yml:2:31: error: ‘1A’ can’t be the name of a variable
       2 |   - {id: a, command: x, env: {1A: x, WORKFLOW_RUN: y, B: [z]}}
         |                               ^
         help: names have letters, digits and ‘_’, and begin with no digit

      f.yml:2:38: error: variables that begin with ‘WORKFLOW_’ are set by the runner
       2 |   - {id: a, command: x, env: {1A: x, WORKFLOW_RUN: y, B: [z]}}
         |                                      ^

      f.yml:2:58: error: the variable ‘B’ is a text, not a list
       2 |   - {id: a, command: x, env: {1A: x, WORKFLOW_RUN: y, B: [z]}}
         |                                                          ^
      """
    ),
    FileMistake(
      "outputs that have no name",
      "steps:\n  - {id: a, command: x, outputs: [a b, c, c]}\n",
      """
      f.yml:2:35: error: ‘a b’ can’t be the name of an output
       2 |   - {id: a, command: x, outputs: [a b, c, c]}
         |                                   ^
         help: names have letters, digits, ‘-’ and ‘_’

      f.yml:2:43: error: ‘outputs’ has ‘c’ twice
       2 |   - {id: a, command: x, outputs: [a b, c, c]}
         |                                           ^
      """
    ),
    FileMistake(
      "conditions that are none",
      """
      steps:
        - id: a
          command: x
          when: {exist: x, newer: {inputs: y}}
          require: {outcome: failed(b), env: 2X, exists: []}
      """,
      """
      f.yml:4:12: error: ‘when’ has no key ‘exist’
       4 |     when: {exist: x, newer: {inputs: y}}
         |            ^
         help: did you mean ‘exists’?

      f.yml:4:29: error: ‘newer’ needs ‘outputs’
       4 |     when: {exist: x, newer: {inputs: y}}
         |                             ^

      f.yml:5:15: error: ‘outcome’ decides whether a step runs: it belongs to ‘when’
       5 |     require: {outcome: failed(b), env: 2X, exists: []}
         |               ^

      f.yml:5:40: error: ‘2X’ can’t be the name of a variable
       5 |     require: {outcome: failed(b), env: 2X, exists: []}
         |                                        ^
         help: names have letters, digits and ‘_’, and begin with no digit

      f.yml:5:52: error: ‘exists’ is an empty list
       5 |     require: {outcome: failed(b), env: 2X, exists: []}
         |                                                    ^
      """
    ),
    FileMistake(
      "matrices that make no steps",
      """
      steps:
        - {id: a, command: x, matrix: {}}
        - {id: b, command: x, matrix: {os: linux}}
        - {id: c, command: x, matrix: {os: []}}
        - {id: d, command: x, matrix: {os: [[a]]}}
        - {id: e, command: x, matrix: {os: [a, b, a]}}
        - {id: f, command: x, matrix: [{os: a}, {so: b}]}
      """,
      """
      f.yml:2:33: error: the matrix has no axis
       2 |   - {id: a, command: x, matrix: {}}
         |                                 ^
         help: like ‘matrix: {os: [linux, macos]}’

      f.yml:3:38: error: the axis ‘os’ has a list of values, not a text
       3 |   - {id: b, command: x, matrix: {os: linux}}
         |                                      ^
         help: like ‘os: [a, b]’

      f.yml:4:38: error: the axis ‘os’ has no values
       4 |   - {id: c, command: x, matrix: {os: []}}
         |                                      ^

      f.yml:5:39: error: a value of the axis ‘os’ is a text, not a list
       5 |   - {id: d, command: x, matrix: {os: [[a]]}}
         |                                       ^

      f.yml:6:45: error: the axis ‘os’ has the value ‘a’ twice
       6 |   - {id: e, command: x, matrix: {os: [a, b, a]}}
         |                                             ^

      f.yml:7:43: error: all combinations have the values of the first: ‘os’
       7 |   - {id: f, command: x, matrix: [{os: a}, {so: b}]}
         |                                           ^
      """
    ),
    FileMistake(
      "combinations without end",
      """
      steps:
        - id: a
          command: x
          matrix:
            a: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
            b: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
            c: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
      """,
      """
      f.yml:5:7: error: the matrix has 10 × 10 × 11 combinations, more than 1000
       5 |       a: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
         |       ^
      """
    ),
  ])
  func `is shown as a compiler shows it`(mistake: FileMistake) { mistake.check() }
}
