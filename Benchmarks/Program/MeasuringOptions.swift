import ArgumentParser
import Foundation

/// What the command line says about how it is measured.
struct MeasuringOptions: ParsableArguments {
  /// Powers of four, so that neighbours are a factor of four apart and a wavefront is a square.
  static let usualSizes = [256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576]

  @Option(
    help: ArgumentHelp(
      "Numbers of operations, with commas between them (default: powers of 4 from 256 to 1048576).",
      valueName: "numbers"
    )
  )
  var sizes: NumberList?

  @Option(help: "How many pairs are measured at most for each ratio.")
  var repetitions = 11

  @Option(
    help: ArgumentHelp(
      """
      No further pair of a ratio begins after so many seconds, or, while there are fewer than three, \
      after six times as many.
      """,
      valueName: "seconds"
    )
  )
  var seconds = 0.4

  @Option(
    help: ArgumentHelp(
      "Peers whose run is expected to take longer are skipped, and the report says so.",
      valueName: "seconds"
    )
  )
  var cutoff = 1.0

  @Option(
    help: ArgumentHelp(
      """
      How long all of it may take, about; sizes for which no time is left are not measured, and the \
      report says so (default: 280 for all workloads at the usual sizes, else no limit).
      """,
      valueName: "seconds"
    )
  )
  var timeLimit: Double?

  @Flag(
    help: """
      Only see whether every workload gives the right result, at the smallest sizes. Takes seconds; \
      measures nothing.
      """
  )
  var smallest = false

  func validate() throws {
    if repetitions < 1 { throw ValidationError("--repetitions needs at least 1.") }
    if seconds <= 0 || cutoff <= 0 {
      throw ValidationError("--seconds and --cutoff need numbers above 0.")
    }
    if let timeLimit, timeLimit <= 0 {
      throw ValidationError("--time-limit needs a number above 0.")
    }
  }

  /// The sizes for a workload: its own, those that were asked for, or the usual ones that suit it.
  func sizes(for workload: any Workload) -> [Int] {
    workload.ownSizes ?? sizes.map { Set($0.numbers).sorted() }
      ?? Self.usualSizes.filter { workload.usualSizes.contains($0) }
  }
}

/// Positive numbers with commas between them.
struct NumberList: ExpressibleByArgument, Sendable {
  var numbers: [Int]

  init?(argument: String) {
    let parts = argument.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    numbers = parts.compactMap { Int($0) }.filter { $0 > 0 }
    if parts.isEmpty || numbers.count < parts.count { return nil }
  }
}
