import Foundation
import TerminalSupport
import WorkflowDocument

/// What an instance of WfCommons says that a workflow needs, checked.
struct WfCommonsInstance {
  /// A task and what was recorded of it.
  struct Task {
    var id: String
    var name: String?
    var parents: [String]
    var seconds: Double
    var cores: Int?
    var memory: Int?
  }

  private(set) var name = ""
  private(set) var tasks: [Task] = []
  /// Of all machines.
  private(set) var cores = 0
  /// Of all machines, in bytes.
  private(set) var memory = 0

  /// Sentences that are shown at most.
  private static let problemLimit = 20

  /// In seconds; what is longer was no run of a program.
  private static let longestTime = 1e9

  /// Reads JSON.
  init(_ json: some Sequence<UInt8>) throws(WfCommonsError) {
    let data = Data(json)
    let file: File
    do {
      file = try JSONDecoder().decode(File.self, from: data)
    } catch let error as DecodingError {
      throw WfCommonsError(Self.sentence(about: error, in: data))
    } catch {
      throw WfCommonsError("the file isn’t JSON")
    }
    name = file.name ?? ""
    let body = file.workflow
    guard let descriptions = body.specification?.tasks ?? body.tasks ?? body.jobs else {
      throw WfCommonsError("the instance has no ‘workflow.specification.tasks’")
    }
    var problems: [String] = []
    var records: [String: Record] = [:]
    for record in body.execution?.tasks ?? [] {
      let id = record.id ?? record.name ?? ""
      if records.updateValue(record, forKey: id) != nil {
        problems.append("two records are of the task ‘\(id.excerpt())’")
      }
    }
    read(descriptions, records: records, isSplit: body.specification != nil, &problems)
    check(&problems)
    guard problems.isEmpty else {
      let more = problems.count - Self.problemLimit
      let end = more > 0 ? ["and \(more) more"] : []
      throw WfCommonsError(
        (problems.prefix(Self.problemLimit) + end).joined(separator: "\n").printable(
          keepsLines: true
        )
      )
    }
    for machine in body.execution?.machines ?? body.machines ?? [] {
      cores += max(0, Int(exactly: (machine.cpu?.coreCount ?? 0).rounded()) ?? 0)
      memory += max(0, Int(exactly: min(machine.memoryInBytes ?? 0, 1e17).rounded()) ?? 0)
    }
  }

  private mutating func read(
    _ descriptions: [Record],
    records: [String: Record],
    isSplit: Bool,
    _ problems: inout [String]
  ) {
    var ids: Set<String> = []
    for (index, description) in descriptions.enumerated() {
      guard let id = description.id ?? description.name, !id.isEmpty else {
        problems.append("the \(index + 1). task has no ‘id’")
        continue
      }
      let quoted = "‘\(id.excerpt())’"
      guard ids.insert(id).inserted else {
        problems.append("two tasks are called \(quoted)")
        continue
      }
      guard let record = isSplit ? records[id] : description else {
        problems.append("the task \(quoted) has no record in ‘workflow.execution.tasks’")
        continue
      }
      guard let seconds = record.runtimeInSeconds ?? record.runtime else {
        problems.append("the task \(quoted) has no ‘runtimeInSeconds’")
        continue
      }
      guard seconds.isFinite, seconds >= 0 else {
        problems.append("the time of the task \(quoted) is \(seconds) seconds")
        continue
      }
      guard seconds <= Self.longestTime else {
        problems.append("the task \(quoted) took \(seconds) seconds, which is more than 30 years")
        continue
      }
      var task = Task(
        id: id,
        name: description.name,
        parents: description.parents ?? [],
        seconds: seconds
      )
      if let cores = record.coreCount ?? record.cores {
        if cores > 0, cores <= 1e6 {
          task.cores = Int(cores.rounded(.up))
        } else {
          problems.append("the task \(quoted) has \(cores) processors")
        }
      }
      if let memory = record.memoryInBytes {
        if memory >= 0, memory <= 1e17 {
          task.memory = Int(memory.rounded(.up))
        } else {
          problems.append("the task \(quoted) has \(memory) bytes of memory")
        }
      }
      tasks.append(task)
    }
    if descriptions.isEmpty { problems.append("the instance has no tasks") }
  }

  /// Names of parents, and cycles.
  private mutating func check(_ problems: inout [String]) {
    guard problems.isEmpty else { return }
    let numbers = Dictionary(uniqueKeysWithValues: zip(tasks.map(\.id), tasks.indices))
    // Some versions have names there, which are good for that where no two tasks share one.
    let named = Dictionary(grouping: tasks.indices) { tasks[$0].name }
    for index in tasks.indices {
      tasks[index].parents = tasks[index].parents.map { parent in
        guard numbers[parent] == nil, let indices = named[parent], indices.count == 1 else {
          return parent
        }
        return tasks[indices[0]].id
      }
    }
    for index in tasks.indices {
      var seen: Set<String> = []
      // A parent may be there twice, for two files.
      tasks[index].parents.removeAll { !seen.insert($0).inserted }
      for parent in tasks[index].parents where numbers[parent] == nil {
        let quoted = "‘\(tasks[index].id.excerpt())’"
        problems.append(
          "the task \(quoted) has the parent ‘\(parent.excerpt())’, which doesn’t exist"
        )
      }
    }
    let graph = StepGraph(needs: tasks.map { $0.parents.compactMap { numbers[$0] } })
    for component in graph.components().reversed() {
      guard let first = component.min(), let cycle = graph.cycle(from: first, in: Set(component))
      else { continue }
      let path = cycle.prefix(12).map { tasks[$0].id.excerpt() }.joined(separator: " → ")
      problems.append("tasks are parents of each other in a cycle: \(path)")
    }
  }

  private static func sentence(about error: DecodingError, in json: Data) -> String {
    func path(_ context: DecodingError.Context, and key: (any CodingKey)? = nil) -> String {
      let keys = context.codingPath + (key.map { [$0] } ?? [])
      let text = keys.map { key in key.intValue.map { "\($0)" } ?? key.stringValue }
      return text.isEmpty ? "the top of the file" : "‘\(text.joined(separator: ".").excerpt(80))’"
    }
    switch error {
    case .keyNotFound(let key, let context): return "the instance has no \(path(context, and: key))"
    case .typeMismatch(_, let context):
      return "\(path(context)) has another type than it should have"
    case .valueNotFound(_, let context): return "\(path(context)) has no value"
    case .dataCorrupted(let context):
      return context.codingPath.isEmpty
        ? "the file isn’t JSON\(flaw(of: json))" : "\(path(context)) has a value that it can’t have"
    @unknown default: return "the file can’t be read"
    }
  }

  /// What is wrong with a text that is no JSON, and where, to go on after a sentence.
  ///
  /// The decoder doesn't say it on all systems; the serializer does, in words.
  private static func flaw(of json: Data) -> String {
    do {
      _ = try JSONSerialization.jsonObject(with: json, options: .fragmentsAllowed)
      return ""
    } catch {
      guard let text = (error as NSError).userInfo["NSDebugDescription"] as? String else {
        return ""
      }
      let match = text.firstMatch(of: #/^(.+?) around character (\d+)/#)
      guard let match, let offset = Int(match.2) else {
        return text.hasPrefix("Unexpected end") ? ": it ends in the middle of something" : ""
      }
      let before = json.prefix(offset)
      let line = before.count { $0 == UInt8(ascii: "\n") } + 1
      let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
      return " at line \(line), column \(column): \(match.1.lowercased())"
    }
  }
}

// MARK: - The shape of the file

private struct File: Decodable {
  var name: String?
  var workflow: Body
}

private struct Body: Decodable {
  var specification: Specification?
  var execution: Execution?
  var tasks: [Record]?
  var jobs: [Record]?
  var machines: [Machine]?
}

private struct Specification: Decodable { var tasks: [Record]? }

private struct Execution: Decodable {
  var tasks: [Record]?
  var machines: [Machine]?
}

private struct Record: Decodable {
  var id: String?
  var name: String?
  var parents: [String]?
  var runtimeInSeconds: Double?
  var runtime: Double?
  var coreCount: Double?
  var cores: Double?
  var memoryInBytes: Double?
}

private struct Machine: Decodable {
  var cpu: Processor?
  var memoryInBytes: Double?
}

private struct Processor: Decodable {
  var coreCount: Double?
}
