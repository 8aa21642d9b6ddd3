import ArgumentParser
import BenchmarkKit
import Foundation

/// The command line: what may be said, and what it means.
@main
struct OperationBenchmarks: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "operation-benchmarks",
    abstract: "Measures what operations cost, ours and those of others, side by side.",
    discussion: """
      Without arguments it measures everything in less than five minutes, prints a table for each \
      workload and says which budgets hold. Build it for release; a debug build says little.

      HOW TO READ IT: machines change their speed while you look, so absolute times of two runs \
      can't be compared, nor can the minima of two contestants. What can is a ratio: both sides are \
      measured back to back, again and again, and the median of the ratios is printed behind ×. \
      Below 1, ours took less.

      EXAMPLES:
        swift run -c release --package-path Benchmarks operation-benchmarks
            Everything.
        operation-benchmarks --workloads independent,chain --contestants ours,dispatch
            Two workloads, one peer.
        operation-benchmarks --workloads chain --sizes 100000,1000000 --repetitions 31
            One workload, precisely.
        operation-benchmarks --cutoff 60 --workloads chain --contestants ours,foundation
            Let Foundation have its time.
        operation-benchmarks --svg costs.svg --format json > costs.json
            A picture, and all numbers.
        operation-benchmarks --check Benchmarks/thresholds.json
            Before a release: exit status 2 if a ratio got worse.
        operation-benchmarks --taskflow ~/taskflow --workloads chain,tree,metg
            With a C++ library as another contestant.

      EXIT STATUS: 0 when all was measured, 1 when a workload gave a wrong result or no threshold \
      was compared, 2 when a threshold was exceeded, 64 when the arguments are wrong. Missed budgets \
      don't change it.
      """
  )

  @OptionGroup(title: "What is measured") var choice: ChoiceOptions
  @OptionGroup(title: "How it is measured") var measuring: MeasuringOptions
  @OptionGroup(title: "What becomes of it") var output: OutputOptions

  @Option(help: .private) var probe: String?

  func run() throws {
    if let probe {
      guard let answer = FreshProcess.answer(probe) else { throw ExitCode.failure }
      print(answer)
      return
    }
    if choice.list {
      print(choice.listing)
      return
    }
    let thresholds = try output.prepare()
    let (contestants, notes) = try choice.makeContestants()
    let run = BenchmarkRun(
      choice: choice,
      measuring: measuring,
      contestants: contestants,
      progress: Progress(isQuiet: output.quiet)
    )
    if measuring.smallest {
      print(try run.verify(style: .ofOutput))
      return
    }
    var report = try run.measure()
    report.notes = notes + report.notes
    try output.write(report, comparedWith: thresholds)
  }
}
