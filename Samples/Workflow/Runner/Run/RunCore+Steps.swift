import AdvancedOperations
import Synchronization
import WorkflowDocument

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension RunCore {
  /// The body of a step's operation: one attempt, and others if machines are lost meanwhile.
  ///
  /// - Returns: The end of the step, which counts when it is in the journal.
  func body(of index: Int) async throws -> StepEnd {
    let step = steps[index]
    let now = environment.clock.now
    let (begins, stop) = state.withLock { ($0.begins(index, now: now), $0.stop) }
    guard begins else {
      // The run was stopped a moment ago, and the cancel of this operation is on its way.
      if let stop { operations[index].cancel(withError: stop.error) }
      throw CancellationError()
    }
    waits.leaves(operations[index])
    gate.passes(index)
    try unfinished.insert(try guardedOutputs(of: index))
    while true {
      let (number, open) = attemptBegins(index)
      do {
        return try await attempt(index, number, open)
      } catch let lost as any AttemptLost {
        try Task.checkCancellation()
        let isTriedAgain = state.withLock {
          $0.attemptLost(index, node: lost.node, limit: StepAttempt.limitOfLosses)
        }
        guard isTriedAgain else { throw lost }
        send(
          .retrying(step: step.id, attempt: number, after: .zero, because: "\(lost)".oneLine)
        )
      }
    }
  }

  private func attemptBegins(_ index: Int) -> (number: Int, open: RunProgress.OpenAttempt?) {
    let now = environment.clock.now
    return state.withLock { $0.attemptBegins(index, now: now) }
  }

  private func attempt(
    _ index: Int,
    _ number: Int,
    _ open: RunProgress.OpenAttempt?
  ) async throws -> StepEnd {
    if let open {
      let attempt = try makeAttempt(index, steps[index].command, number)
      let exit = try await logged(index, attempt) { log in
        try await engine.takeUp(attempt, handle: open.handle, report: report(index, log))
      }
      if let exit { return try ended(index, attempt, exit) }
      let (next, _) = attemptBegins(index)
      return try await self.attempt(index, next, nil)
    }
    if steps[index].retry != nil { try await require(index) }
    let attempt = try makeAttempt(index, steps[index].command, number)
    // Somebody may have cleaned up.
    try folder.makeParts()
    let isResumed = current?.isResumed == true
    // Of an attempt of the same number, whose runner was killed before it wrote that down.
    if isResumed, !engine.hasSubmitted(attempt) {
      unlink(attempt.outputFile)
      if let file = attempt.retryAfterFile { unlink(file) }
    }
    if number > 1 || isResumed { write("attempt \(number)", to: attempt) }
    let exit = try await logged(index, attempt, isNew: number == 1 && !isResumed) { log in
      try await engine.run(attempt, report: report(index, log))
    }
    return try ended(index, attempt, exit)
  }

  /// Throws if a condition that a step requires doesn't hold: its attempt fails.
  private func require(_ index: Int) async throws {
    let operation = operations[index]
    for condition in requirements(of: index) {
      var result = condition.immediateResult(for: operation)
      if result == nil { result = await condition.evaluate(for: operation) }
      guard case .failed(let error) = result else { continue }
      // A value that there is not isn't there later either.
      if error is TemplateError { throw error }
      try Task.checkCancellation()
      throw StepError.required(condition.name, reason: RunWords.reason(of: error))
    }
  }

  /// Has what is printed passed on, from the begin of an attempt, which may be a rollback's, to its
  /// end.
  ///
  /// - Parameters:
  ///   - index: The step.
  ///   - attempt: What writes to its log.
  ///   - isNew: Whether it has no log yet: to look for a file that isn't there takes long in a large
  ///     folder.
  ///   - body: Runs it, and sends what it is given when it has begun: lines come after that, so
  ///     that who sees one can rely on it that the journal knows of the process.
  /// - Returns: What the body returns. Its lines may have to be read yet.
  /// - Throws: What the body throws.
  func logged<Value>(
    _ index: Int,
    _ attempt: StepAttempt,
    isNew: Bool = false,
    _ body: (EventFeed.Item) async throws -> Value
  ) async throws -> Value {
    let log = EventFeed.Item.logOpens(
      step: index,
      path: attempt.logFile,
      from: isNew ? 0 : LogTail.size(of: attempt.logFile)
    )
    state.withLock { $0.logs(index, true) }
    defer {
      noteFullDisk(of: index)
      state.withLock { state in
        state.logs(index, false)
        state.attemptEnds(index, now: environment.clock.now)
      }
      // What never began may have said why.
      sink.send(log)
      let time = environment.clock.now - (current?.time ?? .zero)
      sink.send(.logCloses(step: index, at: LogTail.size(of: attempt.logFile), time: time))
    }
    return try await body(log)
  }

  /// Says once of a step that its log may not have all that it printed.
  ///
  /// A command writes there itself, and what it makes of a failure is its own affair.
  ///
  /// - Parameter index: The step; nil: all that run.
  func noteFullDisk(of index: Int? = nil) {
    guard FileSystem.isFull(at: folder.logs) else { return }
    let text = "its log may be incomplete, because the disk was full that has \(folder.logs)"
    let new = state.withLock { $0.logIsCut(text, of: index) }
    for index in new { send(.notice(step: steps[index].id, text)) }
  }

  private func ended(_ index: Int, _ attempt: StepAttempt, _ exit: StepExit) throws -> StepEnd {
    let step = steps[index]
    if let error = StepError(exit.status) {
      unlink(attempt.outputFile)
      noteRequestedDelay(index, attempt)
      throw caused(error)
    }
    if let file = attempt.retryAfterFile { unlink(file) }
    let outputs: [String: String]
    do throws(OutputProblem) {
      outputs = try StepOutputs.take(attempt.outputFile, declared: step.outputs)
    } catch {
      throw caused(.outputs(error))
    }
    let now = environment.clock.now
    return state.withLock { state in
      let known = state.steps[index]
      return StepEnd(
        outcome: .succeeded,
        attempts: known.attempts,
        duration: known.duration(now: now),
        queued: known.queuedTime,
        node: exit.node ?? known.node,
        outputs: outputs
      )
    }
  }

  /// Notes the delay that a failed command asks for.
  private func noteRequestedDelay(_ index: Int, _ attempt: StepAttempt) {
    guard let file = attempt.retryAfterFile else { return }
    do throws(ValueProblem) {
      guard let delay = try RequestedDelay.take(file) else { return }
      state.withLock { $0.attemptAsks(index, forDelay: delay) }
    } catch {
      let help = error.help.map { " (\($0))" } ?? ""
      send(
        .notice(
          step: steps[index].id,
          "the delay in $WORKFLOW_RETRY_AFTER doesn't apply: \(error.message)\(help)"
        )
      )
    }
  }

  /// An error with its cause, if that is a full disk: what was printed about it may have found no room
  /// either.
  private func caused(_ error: StepError) -> StepError {
    FileSystem.isFull(at: folder.logs) ? .onFullDisk("\(error)", path: folder.logs) : error
  }

  /// A step has succeeded: it is done from the moment at which this has returned.
  func record(_ end: StepEnd, of id: String) async throws(JournalError) {
    guard let index = state.withLock({ $0.place(of: id) }) else { return }
    state.withLock { $0.recordingBegins(index) }
    slots.recordingBegins(in: group)
    let record = JournalRecord.ended(step: id, end: end)
    do throws(JournalError) {
      if sideWork == .ownThreads {
        try await current?.journal.record(record, isUrgent: holdingUp.contains(index))
      } else {
        try current?.journal.append(record, synced: true)
      }
    } catch {
      journalFailed(error)
      throw error
    }
    state.withLock { $0.succeeded(index, end) }
    // After a crash in between, the step is done by the journal of this run, and runs in the next.
    if let outputs = try? guardedOutputs(of: index) { unfinished.remove(outputs) }
  }

  /// How a step ended that runs no more; nil for others.
  func doneEnd(of id: String) -> StepEnd? {
    state.withLock { state in state.place(of: id).flatMap { state.steps[$0].success } }
  }

  /// What an engine tells of an attempt.
  ///
  /// - Parameters:
  ///   - index: The step.
  ///   - log: What to send when it has begun.
  /// - Returns: Takes what it tells.
  func report(_ index: Int, _ log: EventFeed.Item? = nil) -> @Sendable (StepReport) -> Void {
    let step = steps[index].id
    return { [weak self] report in
      guard let self else { return }
      switch report {
      case .waiting(let text):
        state.withLock { $0.attemptWaits(index, for: text) }
        if let text { send(.waiting(step: step, for: text)) }
      case .started(let node, let handle):
        let now = environment.clock.now
        let number = state.withLock { state in
          state.attemptStarted(index, node: node, now: now)
          return state.steps[index].attempts
        }
        if let handle {
          let record = JournalRecord.started(
            step: step,
            attempt: number,
            node: node,
            handle: handle,
            engine: engine.name
          )
          append(record, synced: engine.handlesOutliveMachine)
        }
        send(.started(step: step, attempt: number, node: node))
        if let log { sink.send(log) }
      case .ran(let time): state.withLock { $0.attemptRan(index, for: time) }
      case .notice(let text): send(.notice(step: step, text))
      }
    }
  }

  // MARK: What is run

  /// What the places of a step are filled with.
  ///
  /// - Parameters:
  ///   - index: The step.
  ///   - outputs: What steps gave, if that isn't what those of this process did.
  /// - Returns: The values.
  /// - Throws: What can't be filled.
  func values(
    of index: Int,
    _ outputs: [String: [String: String]]? = nil
  ) throws(TemplateError) -> TemplateValues {
    let values = try workflow.values(
      for: steps[index],
      inherited: current?.variables ?? [:],
      outputs: outputs ?? state.withLock { $0.outputs },
      run: runName
    )
    // Before anything can be said that has one in it.
    if !workflow.secrets.isEmpty {
      secrets.add(workflow.secrets.compactMap { values.environment[$0] })
    }
    return values
  }

  /// The folder that a step runs in.
  func folder(of index: Int, _ values: TemplateValues) throws(TemplateError) -> String {
    let folder = current?.directory ?? "."
    guard let template = steps[index].workingDirectory else { return folder }
    return try template.filled(values).path(in: folder)
  }

  func makeAttempt(
    _ index: Int,
    _ command: Command,
    _ number: Int,
    outputs: [String: [String: String]]? = nil
  ) throws(TemplateError) -> StepAttempt {
    let step = steps[index]
    let values = try values(of: index, outputs)
    var variables = values.environment
    let filled: StepAttempt.Command
    switch try fill(command, values) {
    case .shell(let line, let ofPlaces):
      filled = .shell(line)
      variables.merge(ofPlaces) { _, new in new }
    case .arguments(let list): filled = .arguments(list)
    }
    variables["WORKFLOW_RUN"] = runName
    variables["WORKFLOW_STEP"] = step.id
    variables["WORKFLOW_ATTEMPT"] = "\(number)"
    variables["WORKFLOW_OUTPUT"] = folder.outputFile(of: step.id, attempt: number)
    let isRollback = command != step.command
    let canAsk = !isRollback && step.retry?.retryAfter != nil
    // The runner may have the variable itself, as a step of another run.
    variables["WORKFLOW_RETRY_AFTER"] =
      canAsk ? folder.retryAfterFile(of: step.id, attempt: number) : nil
    var attempt = StepAttempt(
      run: runName,
      step: step,
      number: number,
      command: filled,
      environment: variables,
      workingDirectory: try folder(of: index, values),
      logFile: folder.logFile(of: step.id),
      scratchFolder: folder.scratch,
      gracePeriod: options.gracePeriod
    )
    attempt.isInteractive = step.isInteractive && !isRollback
    return attempt
  }

  private func fill(
    _ command: Command,
    _ values: TemplateValues
  ) throws(TemplateError) -> FilledCommand {
    do throws(TemplateError) {
      return try command.filled(values)
    } catch {
      var error = error
      if case .output(let step, _) = error.part {
        error.isSkipped = state.withLock { $0.end(of: step)?.outcome == .skipped }
      }
      throw error
    }
  }

  /// Writes a heading into the log of an attempt.
  ///
  /// - Parameters:
  ///   - heading: What it says.
  ///   - attempt: Whose log it is.
  ///   - isFirst: Whether it may be the first line; if not, a log that has nothing gets none.
  func write(_ heading: String, to attempt: StepAttempt, isFirst: Bool = false) {
    let creates = isFirst ? O_CREAT : 0
    guard let log = try? OpenFile(attempt.logFile, O_RDWR | O_APPEND | creates),
      let size = try? log.size(), isFirst || size > 0
    else { return }
    let isInLine = size > 0 && (try? log.read(atMost: 1, at: size - 1)) != [UInt8(ascii: "\n")]
    try? log.write("\(isInLine ? "\n" : "")—— \(heading) ——\n".utf8)
  }
}

extension StepAttempt {
  /// The file of the attempt's outputs.
  var outputFile: String { environment["WORKFLOW_OUTPUT"] ?? "" }

  /// The file of the delay that the attempt asks for; nil if it can't ask.
  var retryAfterFile: String? { environment["WORKFLOW_RETRY_AFTER"] }
}

extension String {
  /// The text on one line.
  var oneLine: String {
    split(whereSeparator: \.isNewline).map { $0.drop { $0 == " " } }.joined(separator: "; ")
  }
}
