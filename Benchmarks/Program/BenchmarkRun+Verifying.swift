import BenchmarkKit
import Foundation

extension BenchmarkRun {
  private static let smallestSizes = [1, 2, 3, 64, 256]

  /// Runs every workload at the smallest sizes, and says what ran.
  func verify(style: Style) throws -> String {
    let begun = ContinuousClock.now
    let (workloads, notes) = try makeWorkloads()
    var table = TextTable([.left, .right, .left])
    for workload in workloads {
      progress.show(workload.name)
      let sizes = workload.ownSizes ?? measuring.sizes?.numbers ?? Self.smallestSizes
      for size in sizes {
        let names = try verify(workload, size: size)
        guard size == sizes.last else { continue }
        table.add([workload.name, Quantity.count(size), names.joined(separator: ", ")])
      }
    }
    try verifyProbes(&table)
    progress.clear()
    let seconds = Int((ContinuousClock.now - begun).seconds.rounded())
    let verdict = style.good("every workload gave the right result") + " in \(seconds) s"
    return (table.lines() + notes + [verdict]).joined(separator: "\n")
  }

  /// Looks at order and counts, and gives the lanes that ran.
  private func verify(_ workload: any Workload, size: Int) throws -> [String] {
    try workload.verify(size: size, contestants: contestants)
    let lanes = try workload.lanes(size: size, contestants: contestants)
      .filter { $0.objection == nil }
    for lane in lanes {
      do {
        _ = try lane.measure(repeats: 2)
      } catch {
        throw WrongResult(description: "\(workload.name), \(size) operations: \(error)")
      }
    }
    return lanes.map(\.name)
  }

  private func verifyProbes(_ table: inout TextTable) throws {
    if isWanted(Catalogue.efficiency) {
      let sweep = makeSweep([4e-6], repetitions: 1, work: 0.004)
      for pattern in EfficiencySweep.Pattern.allCases { _ = try sweep.measure(pattern) }
      table.add([Catalogue.efficiency, "", "all patterns"])
    }
    if isWanted(Catalogue.memory) {
      let found = MemoryProbe.all(count: 2_000, foundation: true)
      table.add([Catalogue.memory, Quantity.count(2_000), "\(found.count) measurements"])
    }
    if isWanted(Catalogue.smallStack) {
      let result = SmallStackProbe.measure(length: 20_000)
      guard result.isSurvived else {
        throw WrongResult(description: "a chain on a small stack crashed, or lost some")
      }
      table.add([
        Catalogue.smallStack, Quantity.count(result.length), ContestantName.ours.title,
      ])
    }
  }
}
