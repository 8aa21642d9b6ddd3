import Foundation
import TerminalSupport
public import WorkflowDocument

/// Makes a workflow of a WfCommons instance: the record of a run of a scientific workflow.
///
/// Tasks become steps that sleep or compute for the time that was recorded, their parents become
/// needs, their processors and memory amounts of resources. The instances of versions 1.4 and 1.5 are
/// read (`workflow.specification` beside `workflow.execution`), and older ones, in which
/// `workflow.tasks` or `workflow.jobs` have it all.
///
/// Source: https://wfcommons.org/format
public enum WfCommonsImport {
  /// How tasks become steps.
  public struct Options: Sendable {
    /// What a step does.
    public enum Work: String, Sendable, CaseIterable {
      /// It sleeps for the time.
      case sleep
      /// It keeps a processor busy until that has computed for the time; it needs `perl`.
      case compute
    }

    /// What recorded times are multiplied with.
    public var scale: Double
    /// What steps do.
    public var work: Work
    /// What the workflow is called; nil: what the instance is called.
    public var name: String?

    /// Creates options.
    public init(scale: Double = 1, work: Work = .sleep, name: String? = nil) {
      self.scale = scale
      self.work = work
      self.name = name
    }
  }

  /// Reads an instance.
  ///
  /// - Parameters:
  ///   - json: What the file contains.
  ///   - options: How tasks become steps.
  /// - Returns: The workflow; ``WorkflowFile/text(of:)`` makes a file of it.
  /// - Throws: ``WfCommonsError``, with all that is wrong with its tasks.
  /// - Complexity: Linear in the text.
  public static func workflow(
    fromJSON json: some Sequence<UInt8>,
    options: Options = Options()
  ) throws(WfCommonsError) -> Workflow {
    guard options.scale.isFinite, options.scale > 0 else {
      throw WfCommonsError("the scale is a number above zero, not \(options.scale)")
    }
    let instance = try WfCommonsInstance(json)
    var names = StepNames()
    let ids = instance.tasks.map { names.id(for: $0.id) }
    let numbers = Dictionary(uniqueKeysWithValues: zip(instance.tasks.map(\.id), ids))
    let usesMemory = instance.tasks.contains { ($0.memory ?? 0) > 0 }
    var workflow = Workflow(name: name(options.name ?? instance.name))
    for (task, id) in zip(instance.tasks, ids) {
      var step = Step(id: id, command: command(for: task.seconds * options.scale, options.work))
      step.needs = task.parents.compactMap { numbers[$0] }
      if let cores = task.cores { step.uses["cpu"] = ResourceAmount(cores) }
      if let memory = task.memory, memory > 0 {
        step.uses["memory"] = ResourceAmount(memory, .bytes)
      }
      workflow.steps.append(step)
    }
    if instance.tasks.contains(where: { $0.cores != nil }) {
      let most = instance.tasks.compactMap(\.cores).max() ?? 1
      workflow.resources["cpu"] = ResourceAmount(max(most, instance.cores))
    }
    if usesMemory {
      let most = instance.tasks.compactMap(\.memory).max() ?? 1
      workflow.resources["memory"] = ResourceAmount(max(most, instance.memory), .bytes)
    }
    return workflow
  }

  private static func name(_ text: String) -> String {
    let name = text.printable().excerpt(60)
    return name.allSatisfy(\.isWhitespace) ? "imported" : name
  }

  private static func command(for seconds: Double, _ work: Options.Work) -> Command {
    // Milliseconds: a process takes longer to start.
    let milliseconds = Int(min(seconds * 1000, 1e18).rounded())
    let fraction = String(1000 + milliseconds % 1000).dropFirst()
    var text = "\(milliseconds / 1000).\(fraction)"
    while text.last == "0" { text.removeLast() }
    if text.last == "." { text.removeLast() }
    switch work {
    case .sleep: return .arguments([Template(text: "sleep"), Template(text: text)])
    case .compute:
      let program = "1 while (times)[0] < $ARGV[0]"
      return .arguments(["perl", "-e", program, text].map(Template.init(text:)))
    }
  }
}

/// Why a WfCommons instance can't be imported.
public struct WfCommonsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Sentences without full stops, a line for each.
  public var description: String

  init(_ description: String) { self.description = description }
}

/// Makes ids of steps from ids of tasks, which may have any characters.
private struct StepNames {
  private var used: Set<String> = []

  mutating func id(for task: String) -> String {
    let scalars = task.unicodeScalars.map { scalar -> Character in
      let isPlain = scalar.value < 0x80 && UInt8(scalar.value).isLetterOrDigit
      return isPlain || "-_.".unicodeScalars.contains(scalar) ? Character(scalar) : "_"
    }
    var base = String(scalars.prefix(Step.idLimit - 8))
    if base.utf8.first?.isLetterOrDigit != true { base = "_" + base }
    var id = base
    var count = 1
    // Logs of steps are files, whose names may not tell capital letters from small ones.
    while !used.insert(id.lowercased()).inserted {
      count += 1
      id = "\(base)_\(count)"
    }
    return id
  }
}
