import Foundation

/// A real workflow, from a file of WfCommons (schema 1.5): what waits for what, and how long it
/// took.
struct WorkflowInstance: Sendable {
  /// The name of the file up to its first dash.
  let name: String
  let graph: TaskGraph
  /// In seconds, by node.
  let runtimes: [Double]

  /// The sum of all runtimes.
  var work: Double { runtimes.reduce(0, +) }

  /// The longest path, by runtime.
  var criticalPath: Double {
    var ends: [Double] = []
    for node in 0..<graph.count {
      let begun = graph.predecessors(of: node).map { ends[Int($0)] }.max() ?? 0
      ends.append(begun + runtimes[node])
    }
    return ends.max() ?? 0
  }

  init(contentsOf file: URL) throws {
    let document = try JSONDecoder().decode(Document.self, from: Data(contentsOf: file))
    let tasks = document.workflow.specification.tasks
    let times = document.workflow.execution.tasks.map { ($0.id, $0.runtimeInSeconds) }
    // Names occur twice, identifiers don't.
    let runtimes = Dictionary(times) { first, _ in first }
    let order = try Self.order(tasks, in: file)
    let places = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1.id, $0) })
    graph = TaskGraph(
      predecessors: order.map { task in Set(task.parents).compactMap { places[$0] }.sorted() }
    )
    self.runtimes = order.map { runtimes[$0.id] ?? 0 }
    name = String(file.lastPathComponent.prefix { $0 != "-" })
  }

  /// The instances in a folder, or in its subfolder `wfcommons`, the smallest first.
  static func all(in folder: URL) throws -> [WorkflowInstance] {
    let inside = folder.appendingPathComponent("wfcommons")
    let place = FileManager.default.fileExists(atPath: inside.path) ? inside : folder
    return try FileManager.default.contentsOfDirectory(at: place, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "json" }
      .map { try WorkflowInstance(contentsOf: $0) }
      .sorted { ($0.graph.count, $0.name) < ($1.graph.count, $1.name) }
  }

  /// The tasks so that each comes after its parents.
  private static func order(_ tasks: [Document.Task], in file: URL) throws -> [Document.Task] {
    var children: [String: [Document.Task]] = [:]
    var pending: [String: Int] = [:]
    for task in tasks {
      let parents = Set(task.parents)
      pending[task.id] = parents.count
      for parent in parents { children[parent, default: []].append(task) }
    }
    var order = tasks.filter { $0.parents.isEmpty }
    var next = 0
    while next < order.count {
      for child in children[order[next].id] ?? [] {
        pending[child.id, default: 0] -= 1
        if pending[child.id] == 0 { order.append(child) }
      }
      next += 1
    }
    guard order.count == tasks.count else {
      throw WrongResult(description: "\(file.lastPathComponent): the tasks wait in a cycle")
    }
    return order
  }

  private struct Document: Decodable {
    struct Workflow: Decodable {
      var specification: Specification
      var execution: Execution
    }
    struct Specification: Decodable { var tasks: [Task] }
    struct Execution: Decodable { var tasks: [Measurement] }
    struct Task: Decodable {
      var id: String
      var parents: [String]
    }
    struct Measurement: Decodable {
      var id: String
      var runtimeInSeconds: Double
    }
    var workflow: Workflow
  }
}
