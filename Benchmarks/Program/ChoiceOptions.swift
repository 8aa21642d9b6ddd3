import ArgumentParser
import BenchmarkKit
import Foundation

/// What the command line says about what is measured.
struct ChoiceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Only these workloads, with commas between them; see --list.",
      valueName: "names"
    )
  )
  var workloads: NameList?

  @Option(
    help: ArgumentHelp(
      "Only these contestants: \(ContestantName.allCases.map(\.rawValue).joined(separator: ", ")).",
      valueName: "names"
    )
  )
  var contestants: NameList?

  @Option(
    help: ArgumentHelp(
      """
      Where real workflows are: a folder with files of WfCommons, or with a folder wfcommons. By \
      default what OPERATIONS_TEST_DATA names.
      """,
      valueName: "folder"
    ),
    completion: .directory
  )
  var data: String?

  @Option(
    help: ArgumentHelp(
      "Headers of Taskflow (the folder that has taskflow/taskflow.hpp), to compile and compare.",
      valueName: "folder"
    ),
    completion: .directory
  )
  var taskflow: String?

  @Option(help: "Conditions of the operation that has many.")
  var conditions = 4

  @Option(help: "Observers of the operation that has many.")
  var observers = 4

  @Flag(help: "List the workloads and end.")
  var list = false

  /// The names of the workloads that are wanted; none stands for all.
  var workloadNames: [String] { workloads?.names ?? [] }

  func validate() throws {
    if conditions < 0 || observers < 0 {
      throw ValidationError("--conditions and --observers need numbers that aren't negative.")
    }
    let known =
      Catalogue().workloads.map(\.name) + Catalogue.others.map(\.0) + ["workflows"]
    for name in workloadNames
    where !known.contains(name) && !name.hasPrefix(Catalogue.workflowPrefix) {
      throw ValidationError("There is no workload “\(name)”; --list names those that there are.")
    }
    for name in contestants?.names ?? [] where ContestantName(rawValue: name) == nil {
      throw ValidationError(
        "There is no contestant “\(name)”; there are "
          + "\(ContestantName.allCases.map(\.rawValue).joined(separator: ", "))."
      )
    }
    if contestants?.names.contains(ContestantName.taskflow.rawValue) == true, taskflow == nil {
      throw ValidationError("Taskflow takes part with --taskflow <folder of its headers> only.")
    }
  }

  var listing: String {
    var table = TextTable([.left, .left])
    for workload in Catalogue().workloads { table.add([workload.name, workload.title]) }
    table.add(["workflows", "real workflows, where --data or OPERATIONS_TEST_DATA has some"])
    for (name, title) in Catalogue.others { table.add([name, title]) }
    return table.lines().joined(separator: "\n")
  }

  /// The contestants, ours first, and what there is to say about those that stay away.
  func makeContestants() throws -> (contestants: [any Contestant], notes: [String]) {
    let wanted = contestants?.names ?? ContestantName.allCases.map(\.rawValue)
    var notes: [String] = []
    let found = ContestantName.allCases.filter { wanted.contains($0.rawValue) }
      .compactMap { name -> (any Contestant)? in
        switch name {
        case .ours: return OurQueue()
        case .dispatch: return DispatchContestant()
        case .taskgroup: return TaskGroupContestant(isDiscarding: false)
        case .discarding: return TaskGroupContestant(isDiscarding: true)
        case .foundation: return FoundationQueue()
        case .taskflow:
          guard let taskflow else { return nil }
          do {
            return try TaskflowContestant(headers: taskflow)
          } catch {
            notes.append("Taskflow does not take part: \(error)")
            return nil
          }
        }
      }
    guard !found.isEmpty else { throw ValidationError(notes.joined(separator: "\n")) }
    return (found, notes)
  }

  /// The real workflows that are wanted, or why there are none.
  func makeWorkflows() throws -> Result<[WorkflowInstance], Absence> {
    let isWanted =
      workloadNames.isEmpty
      || workloadNames.contains {
        $0 == "workflows" || $0.hasPrefix(Catalogue.workflowPrefix)
      }
    guard isWanted else { return .success([]) }
    let named = ProcessInfo.processInfo.environment["OPERATIONS_TEST_DATA"] ?? ""
    guard let folder = data ?? (named.isEmpty ? nil : named) else {
      return .failure(
        Absence(description: "SKIPPED: real workflows; OPERATIONS_TEST_DATA is not set")
      )
    }
    return .success(try WorkflowInstance.all(in: URL(fileURLWithPath: folder)))
  }
}

/// Why something isn't there, which is no failure.
struct Absence: Error { var description: String }

/// Names with commas between them.
struct NameList: ExpressibleByArgument, Sendable {
  var names: [String]

  init?(argument: String) {
    names = argument.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    if names.isEmpty { return nil }
  }
}
