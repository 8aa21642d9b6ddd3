import Dispatch
import Foundation
import Synchronization
import TerminalSupport
import WorkflowDocument
import WorkflowRunner

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// One run as the person at the terminal sees it, from its first line to the exit status.
struct ConductedRun {
  let workflow: Workflow
  let record: RunRecord
  let options: DisplayOptions
  /// What has to be added to commands so that they find the run.
  let place: String
  /// Reads earlier runs, so it is called only for a display that shows it.
  let estimate: () -> RunEstimate
  var deadline: RunDeadline?
  var environment = ProcessInfo.processInfo.environment

  /// Runs it, and says what came of it.
  ///
  /// - Parameter make: Creates the run, which reports to what it is given, and lends steps the terminal.
  /// - Returns: The exit status.
  /// - Throws: What kept it from beginning, or drawings from being written.
  func conduct(
    _ make: (@escaping @Sendable (RunEvent) -> Void, LocalEngine.Terminal) throws -> any RunControl
  )
    async throws -> Int32
  {
    // Writing to a pipe that nobody reads shall be an error code, not the end of the program.
    _ = signal(SIGPIPE, SIG_IGN)
    let output = RunOutput()
    let display = display(output)
    let failures = FailedSteps()
    let hasBegun = Mutex(false)
    // Events have standard output for themselves where they are JSON.
    let settings = TerminalSettings()
    let terminal = LocalEngine.Terminal(output: options.format(environment) == .json ? 2 : 1) {
      step in
      if step == nil { settings.restore() } else { settings.save() }
      display.lendTerminal(to: step)
    }
    let timeIsOver = deadline?.reason
    let run = try make(
      { event in
        if case .runStarted = event.kind { hasBegun.withLock { $0 = true } }
        failures.note(event)
        display.show(event)
        if case .cancelling(let reason) = event.kind, reason == timeIsOver {
          let notice = "ending because \(reason): steps are asked to end"
          display.say(StyledLine("⊘ ", .yellow) + StyledLine(notice))
        }
      },
      terminal
    )
    let explain = ExplainSocket(in: record.path) { step in
      run.explain(step) ?? ""
    }
    let interruption = Mutex<Interruption?>(nil)
    let kill: @Sendable (Int32) -> Void = { signal in
      run.kill()
      // What was killed ends soon; a step that a disk holds fast, or a terminal that takes nothing
      // more, may not.
      DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(2)) {
        if StandardStream.output.hasRoom { display.endIfPossible() }
        _exit(interruption.withLock { $0?.exitCode } ?? 128 + signal)
      }
    }
    let watch = SignalWatch(
      Self.signals,
      echo: .milliseconds(50),
      urgent: [SIGQUIT]
    ) { signal in
      let came = Interruption(signal: signal, isRunOver: run.isOver)
      interruption.withLock { $0 = came }
      if !came.isGraceful { kill(signal) }
      run.cancel(because: came.reason)
      Self.endIfOutputIsStuck(after: run, status: came.exitCode)
      display.say(StyledLine("⊘ ", .yellow) + StyledLine(came.notice))
    } onSecond: { signal in
      if Interruption(signal: signal, isRunOver: run.isOver).isDemand { kill(signal) }
    }
    let suspension = SuspensionWatch {
      display.pause(stopsSteps: run.suspend())
    } onContinue: {
      run.resume()
      display.goOn()
    }
    let result: Result<RunEnd, any Error>
    do { result = .success(try await run.run()) } catch { result = .failure(error) }
    explain?.end()
    watch.expectsNoFirst()
    defer { withExtendedLifetime((watch, suspension)) {} }
    display.end()
    let end: RunEnd
    do {
      end = try result.get()
    } catch {
      throw Complaint(error, hasBegun: hasBegun.withLock { $0 }) ?? error
    }
    try options.writePictures(of: run)
    if options.format(environment) != .json {
      let summary = RunReport(
        workflow: workflow.name,
        run: record.name,
        end: end,
        failures: failures.failures(of: workflow) { record.logFile(of: $0) },
        place: place,
        isFolderThere: record.folder.isThere
      )
      output.write(summary.lines, colour: StandardStream.output.hasColour(environment))
    }
    return Self.status(of: end, interruption.withLock { $0 })
  }

  /// Ends the program where a run is over that was asked to end, and nothing can be written: a
  /// terminal was stopped with Ctrl-S, or a pager isn't read on.
  private static func endIfOutputIsStuck(
    after run: any RunControl,
    status: Int32,
    seconds: Int = 0
  ) {
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) {
      let isStuck = run.isOver && !StandardStream.output.hasRoom
      guard isStuck, seconds >= 3 else {
        return endIfOutputIsStuck(after: run, status: status, seconds: isStuck ? seconds + 1 : 0)
      }
      if StandardStream.error.hasRoom {
        try? StandardStream.error.send(
          "workflow: the output takes nothing more; the run's folder keeps all\n"
        )
      }
      _exit(status)
    }
  }

  /// Those that ask the program to end; a program started by `nohup` ignores one of them.
  private static var signals: [Int32] {
    [SIGINT, SIGTERM, SIGQUIT] + (SignalWatch.isIgnored(SIGHUP) ? [] : [SIGHUP])
  }

  static func status(of end: RunEnd, _ interruption: Interruption?) -> Int32 {
    // A signal that came after all was done changes nothing.
    if end.isSuccess { return 0 }
    return interruption?.exitCode ?? 1
  }

  private func display(_ output: RunOutput) -> any RunDisplay {
    let stream = StandardStream.output
    let colour = stream.hasColour(environment)
    let write: @Sendable (TerminalText) -> Void = { output.write($0) }
    switch options.format(environment) {
    case .json:
      return JSONDisplay {
        output.write(TerminalText(filtered: $0))
      } notice: { line in
        try? StandardStream.error.send("\(line.text)\n")
      }
    case .auto where !options.quiet:
      let environment = environment
      let begin = ContinuousClock.now
      let display = LiveDisplay(RunView(workflow, estimate: estimate()), colour: colour) {
        stream.isInForeground
          ? LiveDisplay.Size(width: stream.width(environment), height: stream.height(environment))
          : nil
      } now: {
        .now - begin
      } write: {
        output.write($0)
      }
      display.begin()
      return display
    case .auto, .plain:
      return PlainDisplay(options.quiet ? .failures : .everything, colour: colour, write: write)
    }
  }
}

/// Standard output, of which it is said once that nobody reads it any more.
///
/// The run goes on then: what it does is worth more than what it says, which its folder keeps.
final class RunOutput: Sendable {
  private let isClosed = Mutex(false)

  func write(_ text: TerminalText) {
    if isClosed.withLock({ $0 }) { return }
    var reason = "no program reads the output any more"
    do {
      try StandardStream.output.send(text)
      if StandardStream.output.hasReader { return }
    } catch {
      reason = "the output can't be written (\(error.reason))"
    }
    let isFirst = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
    if isFirst {
      try? StandardStream.error.send(
        "workflow: \(reason); the run continues, and its folder keeps all\n"
      )
    }
  }

  func write(_ lines: [StyledLine], colour: Bool) {
    for line in lines { write(line.terminalText(colour: colour) + "\n") }
  }
}

/// The steps that failed by themselves, in order.
private final class FailedSteps: Sendable {
  private let steps = Mutex<[(name: String, hasRun: Bool)]>([])

  func note(_ event: RunEvent) {
    if case .ended(let step, let end) = event.kind, end.outcome == .failed {
      steps.withLock { $0.append((step, end.attempts > 0)) }
    }
  }

  func failures(
    of workflow: Workflow,
    _ logFile: (String) -> String
  ) -> [RunReport.Failure] {
    let known = Dictionary(workflow.steps.map { ($0.id, $0) }) { first, _ in first }
    let steps = steps.withLock { $0 }
    return steps.enumerated().map { index, step in
      let file = logFile(step.name)
      let isShown = step.hasRun && index < RunReport.shownFailures
      let lines = isShown ? LogFile(path: file).lastLines(RunReport.shownLines) : []
      return RunReport.Failure(
        step: step.name,
        logFile: file,
        lastLines: lines,
        hasRun: step.hasRun,
        command: known[step.name].map { $0.isInteractive ? nil : $0.command.readable } ?? ""
      )
    }
  }
}
