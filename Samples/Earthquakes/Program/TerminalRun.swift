import AdvancedOperations
import AdvancedOperationsVisualization
import EarthquakeKit
import EarthquakeWorkflow
import Foundation
import TerminalSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// One run of the workflow, as the person at the terminal sees it.
struct TerminalRun {
  let workflow: ImportWorkflow
  let database: DatabaseOption
  let options: OutputOptions

  private let environment = ProcessInfo.processInfo.environment

  /// Runs the workflow, writes what came of it, and returns the exit status.
  func run() async throws -> Int32 {
    // Writing to a pipe that nobody reads shall be an error code, not the end of the program.
    _ = signal(SIGPIPE, SIG_IGN)
    let display = makeDisplay()
    let recorder = TimelineRecorder()
    display.observe(workflow.steps)
    for operation in [workflow.operation] + workflow.steps { operation.addObserver(recorder) }
    if database.isTemporary {
      display.say("Using a new database in a temporary folder: \(database.file.path)")
    }
    try await execute(display)
    if database.isTemporary, workflow.stored == nil { database.remove() }
    return write(Summary(workflow), display, recorder.timeline)
  }

  private func makeDisplay() -> ProgressDisplay {
    let (stream, environment) = (StandardStream.error, environment)
    let style: ProgressDisplay.Style =
      options.quiet ? .quiet : stream.canRewriteLines(environment) ? .live : .lines
    return ProgressDisplay(style: style) {
      stream.width(environment)
    } write: { text in
      // There is nobody left to tell when this fails.
      try? stream.send(text)
    }
  }

  /// Runs the workflow to its end, which may be that somebody interrupts it.
  private func execute(_ display: ProgressDisplay) async throws {
    let operation = workflow.operation
    let quit: @Sendable (Interruption) -> Void = { interruption in
      if StandardStream.error.hasRoom { display.endIfIdle() }
      _exit(interruption.exitCode)
    }
    // Swift's runtime would take SIGQUIT for a crash; who sends it has waited long enough.
    let watch = SignalWatch([SIGINT, SIGTERM, SIGQUIT]) { signal in
      let interruption = Interruption(signal: signal)
      if signal == SIGQUIT { quit(interruption) }
      operation.cancel(withError: interruption)
      // Said when it is so, and not of one that has just ended.
      if operation.isCancelled { display.say("\(interruption.notice)") }
    } onSecond: { signal in
      quit(Interruption(signal: signal))
    }
    // Stopped before anything else is said, so that the order of what people read is the order of
    // what happened.
    defer {
      watch.stop()
      display.end()
    }
    AdvancedOperationQueue().addOperation(operation)
    try await operation.untilFinished()
  }

  private func write(
    _ summary: Summary,
    _ display: ProgressDisplay,
    _ timeline: OperationTimeline
  ) -> Int32 {
    var status = summary.status
    for notice in summary.notices { display.say("\(notice)") }
    if case .success(let report) = workflow.report.result {
      do {
        let output = StandardStream.output
        let text = try options.format.text(
          report,
          database: database.shownPath,
          stream: output,
          environment: environment
        )
        try output.send(text)
      } catch {
        complain("Error: \(error)")
        status = max(status, 1)
      }
    }
    if options.verbose {
      display.say("\n\(timeline.text(width: StandardStream.error.width(environment)).dropLast())")
    }
    if let complaint = summary.complaint { complain("\(complaint)") }
    return status
  }

  /// Writes what has to be seen, also by those who want to see little.
  private func complain(_ text: TerminalText) {
    try? StandardStream.error.send("\(text)\n")
  }
}
