/// The keys that a file may have, by where they stand.
///
/// The reader's switches over them are exhaustive, and a test compares them with the schema.
package enum FileKeys {
  /// At the top.
  package enum Workflow: String, CaseIterable {
    case name, parameters, env
    case envFile = "env-file"
    case secrets, resources, defaults, steps
  }

  /// Of `defaults`.
  package enum Defaults: String, CaseIterable { case timeout, retry, cwd, shell, uses }

  /// Of a step.
  package enum Step: String, CaseIterable {
    case id, command, needs, when, require, exclusive, uses, rate, retry, timeout
    case rollback = "on-rollback"
    case env, cwd, shell, interactive, matrix, outputs
  }

  /// Of `retry`.
  package enum Retry: String, CaseIterable {
    case attempts, delay, backoff
    case maximumDelay = "max-delay"
    case jitter, total
    case retryAfter = "retry-after"
  }

  /// Of `when` and `require`.
  package enum Condition: String, CaseIterable {
    case exists, missing, newer, env, reachable
    case freeDisk = "free-disk"
    case outcome
  }

  /// Of `newer`.
  package enum Newer: String, CaseIterable { case inputs, outputs }

  /// Of `free-disk`.
  package enum FreeDisk: String, CaseIterable {
    case atLeast = "at-least"
    case at
  }

  /// What other programs call these keys.
  static let otherNames: [String: String] = [
    "depends_on": "needs", "depends-on": "needs", "dependsOn": "needs", "dependencies": "needs",
    "after": "needs", "requires": "require", "run": "command", "script": "command",
    "cmd": "command", "if": "when", "only-if": "when", "environment": "env", "variables": "env",
    "working-directory": "cwd", "workdir": "cwd", "directory": "cwd", "dir": "cwd",
    "retries": "retry", "lock": "exclusive", "mutex": "exclusive", "rollback": "on-rollback",
    "undo": "on-rollback", "strategy": "matrix", "jobs": "steps", "tasks": "steps",
    "stages": "steps", "count": "attempts", "limit": "attempts", "max-attempts": "attempts",
    "wait": "delay", "interval": "delay", "host": "reachable", "files": "exists",
    "name": "id", "title": "name", "path": "at", "deps": "needs", "cmds": "command",
    "commands": "command", "dotenv": "env-file", "env_file": "env-file", "inputs": "parameters",
    "params": "parameters", "args": "parameters", "vars": "parameters",
  ]

  /// What to do instead, for keys of other programs that no key replaces.
  static let hints: [String: String] = [
    "continue-on-error": "end the command with ‘|| true’, or run the workflow with ‘--keep-going’",
    "ignore_error": "end the command with ‘|| true’, or run the workflow with ‘--keep-going’",
    "allow_failure": "end the command with ‘|| true’, or run the workflow with ‘--keep-going’",
    "runs-on": "remove it: steps run on this machine, or on a cluster with ‘--engine slurm’",
    "set": "use ‘shell’, like ‘shell: [bash, -c]’",
  ]
}
