import Foundation

/// A file of another program that somebody may want to import, and how its parts are called here.
struct OtherFormat {
  /// What it is.
  let name: String
  /// What to write instead.
  let advice: String
  /// Whether the file says what is to be run.
  var isRunnable: Bool { name != Self.noJSON }

  private static let noJSON = "file that isn't JSON"

  /// Recognizes a file; nil if it may be an instance of WfCommons.
  init?(of bytes: Data, named path: String) {
    let file = URL(filePath: path).lastPathComponent.lowercased()
    let lines = String(decoding: bytes.prefix(1 << 20), as: UTF8.self).split(
      whereSeparator: \.isNewline
    )
    let keys = Set(
      lines.filter { $0.first != " " && $0.contains(":") }.map { line in
        String(line.prefix { $0 != ":" })
      }
    )
    if keys.contains("tasks"), keys.contains("version") || file.hasPrefix("taskfile") {
      self.init(
        name: "Taskfile",
        advice: "write a step for each task: ‘cmds’ is ‘command’, ‘deps’ is ‘needs’, ‘sources’ and "
          + "‘generates’ are ‘when: {newer: {inputs: …, outputs: …}}’, ‘vars’ is ‘parameters’"
      )
    } else if keys.contains("jobs"), keys.contains("on") || keys.contains("\"on\"") {
      self.init(
        name: "workflow of GitHub Actions",
        advice: "write a step for each job: ‘run’ is ‘command’, ‘needs’ and ‘env’ are the same, "
          + "‘strategy.matrix’ is ‘matrix’, ‘if’ is ‘when’; actions (‘uses’) have to become commands"
      )
    } else if file == "snakefile" || file.hasSuffix(".smk")
      || keys.contains(where: { $0.hasPrefix("rule ") })
    {
      self.init(
        name: "Snakefile",
        advice: "write a step for each rule: ‘shell’ is ‘command’, ‘input’ and ‘output’ are "
          + "‘when: {newer: {inputs: …, outputs: …}}’, wildcards are a ‘matrix’; “snakemake --dag” shows "
          + "what needs what"
      )
    } else if file == "makefile" || file.hasSuffix(".mk") {
      self.init(
        name: "Makefile",
        advice:
          "write a step for each rule: its commands are ‘command’, what it depends on are ‘needs’, "
          + "or ‘when: {newer: {inputs: …, outputs: …}}’ for files"
      )
    } else if bytes.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) != UInt8(ascii: "{") {
      self.init(
        name: Self.noJSON,
        advice: "instances of WfCommons are JSON; see https://wfcommons.org"
      )
    } else {
      return nil
    }
  }

  private init(name: String, advice: String) { (self.name, self.advice) = (name, advice) }
}
