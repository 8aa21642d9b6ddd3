import BenchmarkKit
import Foundation

/// All that was measured in one run.
struct Report: Codable, Sendable {
  var machine = Machine.current
  var cores: CoreProbe
  var workloads: [WorkloadReport] = []
  var efficiency: [EfficiencyReport] = []
  var memory: [MemoryProbe.Result] = []
  var smallStack: SmallStackProbe.Result?
  var budgets: [Budget] = []
  /// What the reader has to know, such as what was not measured.
  var notes: [String] = []
  var seconds = 0.0

  init(cores: CoreProbe) { self.cores = cores }

  func workload(_ name: String) -> WorkloadReport? { workloads.first { $0.name == name } }

  /// The ratios by names that stay the same from run to run.
  ///
  /// Small sizes are left out where there are larger ones: they are mostly about threads that wake
  /// up.
  var ratios: [String: RatioSummary] {
    var all: [String: RatioSummary] = [:]
    for workload in workloads {
      for size in workload.sizes where size.size >= 4_000 || workload.sizes.count == 1 {
        for ratio in size.ratios {
          all["\(workload.name) \(size.size): \(ratio.subject) / \(ratio.reference)"] =
            ratio.summary
        }
      }
    }
    return all
  }

  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}

/// Where and when a report was made.
struct Machine: Codable, Sendable {
  var date: Date
  var system: String
  var processor: String
  var processors: Int

  static var current: Machine {
    Machine(
      date: Date(),
      system: ProcessInfo.processInfo.operatingSystemVersionString,
      processor: processorName ?? "unknown processor",
      processors: ProcessInfo.processInfo.activeProcessorCount
    )
  }

  private static var processorName: String? {
    (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?
      .split(separator: "\n").first { $0.hasPrefix("model name") }?
      .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
  }
}
