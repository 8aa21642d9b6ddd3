import WorkflowRunner

extension SlurmAttempt {
  /// Runs the attempt by `srun`, and by another one if the controller didn't answer the first.
  func runBySrun() async throws -> StepExit {
    let begun = ContinuousClock.now
    var interval = Duration.milliseconds(250)
    while !isStopping {
      let result = await srun()
      let isForgotten = takeForgotten()
      if let status = place.status { return exit(status) }
      if isStopping { break }
      if isForgotten, !place.isBegun { continue }
      let code = try result.get()
      let message = SlurmMessage(SlurmPlace.read(place.messages) ?? "")
      if place.isBegun { return try await endOfBegun(code, message) }
      guard message.meaning == .unavailable else { throw error(message) }
      let waited = begun.duration(to: .now)
      guard waited < patience else {
        throw SlurmError.unavailable(message: message.sentence, after: patience)
      }
      setTrouble("Slurm's controller, which doesn't answer: \(message.sentence)")
      try await pause(min(interval, patience - waited))
      interval = min(interval * 2, .seconds(5))
    }
    throw CancellationError()
  }

  /// Waits for the end of a job that isn't a child of this process.
  ///
  /// - Returns: How it ended; nil if nothing is known of it, and it can't begin any more.
  func endOfJob() async throws -> StepExit? {
    var interval = Duration.milliseconds(10)
    // A list from before this call may not have the job yet.
    var nextQuestion = ContinuousClock.now + .milliseconds(500)
    var silentSince: ContinuousClock.Instant?
    var unknownSince: ContinuousClock.Instant?
    while true {
      if let status = place.status { return exit(status) }
      let now = ContinuousClock.now
      if now >= nextQuestion {
        do {
          let jobs = try await queue.jobs(notOlderThan: now - .milliseconds(400))
          silentSince = nil
          setTrouble(nil)
          let job = jobs.last(where: place.isMine)
          if job != nil { unknownSince = nil }
          // One that wasn't there when the list was made may have begun since; it is in the next one.
          // One that has just begun may not have come to say where, on a machine that is busy.
          let isNew = unknownSince.map { now - $0 < patience / 12 && place.start == nil } ?? true
          if job == nil, isNew, !place.preventBeginning() {
            unknownSince = unknownSince ?? now
          } else if let end = try await end(of: job) {
            return end.exit
          }
        } catch SlurmError.unavailable(let message, _) {
          let since = silentSince ?? now
          silentSince = since
          guard since.duration(to: now) < patience else {
            throw SlurmError.unavailable(message: message, after: patience)
          }
          setTrouble("Slurm's controller, which doesn't answer: \(message)")
        }
        nextQuestion = .now + .seconds(1)
      }
      try await Task.sleep(for: interval)
      interval = min(interval * 5 / 4, .milliseconds(100))
    }
  }

  private func exit(_ status: StepExit.Status) -> StepExit {
    StepExit(status, node: place.start?.node)
  }

  private func srun() async -> Result<Int, any Error> {
    let arguments =
      request.arguments(name: SlurmRequest.name(attempt), token: place.token)
      + ["--input=none", "--mpi=none"] + SlurmScript.launcher(script: place.script)
    let srun = Task { [commands, attempt, place] in
      try await commands.srun(arguments, output: attempt.logFile, messages: place.messages)
    }
    setSrun(srun)
    let watch = Task { await endIfForgotten(srun) }
    defer { watch.cancel() }
    return await srun.result
  }

  /// Ends an `srun` that waits for a job that the controller doesn't have.
  ///
  /// A controller that was killed has forgotten what happened since it last wrote its jobs down,
  /// and `srun` would wait for ever for a job of that time. As long as the controller doesn't
  /// answer, nothing follows; a script begins once, so that a job that comes to light later does
  /// nothing.
  private func endIfForgotten(_ srun: Task<Int, any Error>) async {
    var missingSince: ContinuousClock.Instant?
    while (try? await Task.sleep(for: .seconds(1))) != nil, !place.isBegun, !isStopping {
      let jobs = try? await queue.jobs(notOlderThan: .now - .milliseconds(900))
      let phase = jobs?.last(where: place.isMine)?.phase
      guard jobs != nil, phase != .pending, phase != .active else {
        missingSince = nil
        continue
      }
      let now = ContinuousClock.now
      let since = missingSince ?? now
      missingSince = since
      if since.duration(to: now) >= patience / 12 {
        setForgotten()
        return srun.cancel()
      }
    }
  }

  /// How an attempt ended whose script had begun, but couldn't say how it ended.
  private func endOfBegun(_ code: Int, _ message: SlurmMessage) async throws -> StepExit {
    if let exit = try await endOfJob() { return exit }
    // Slurm has forgotten the job already.
    let job = place.start?.job ?? "?"
    if case .nodeLost(let node) = message.meaning {
      throw SlurmNodeLost(node: node ?? place.start?.node, job: job)
    }
    // `srun` says 0 of a step whose node is gone: without the script's word it is no success.
    guard code != 0 else { throw SlurmError.failed(message: "job \(job) ended without a trace") }
    return exit(SlurmPlace.status(code))
  }

  /// What is known about an end; nil as an exit: nothing.
  private struct End { var exit: StepExit? }

  /// What a job's line in Slurm's list says about its end; nil: it hasn't ended.
  private func end(of job: SlurmJob?) async throws -> End? {
    if let job, job.phase == .pending || job.phase == .active { return nil }
    // It may have been written after it was looked for.
    if let status = place.status { return End(exit: exit(status)) }
    guard let job else { return End(exit: nil) }
    let node = job.node.isEmpty ? place.start?.node : job.node
    switch job.phase {
    case .pending, .active: return nil
    case .lost: throw SlurmNodeLost(node: node, job: job.id, state: job.state)
    case .stopped: throw SlurmError.stopped(job: job.id, state: job.state, node: node)
    case .ended where place.start == nil:
      // It never began, since its node was gone or it was kept from it: it can be run again.
      let message = SlurmMessage(SlurmPlace.read(place.messages) ?? "")
      if case .nodeLost(let name) = message.meaning {
        throw SlurmNodeLost(node: name ?? node, job: job.id)
      }
      return End(exit: nil)
    case .ended:
      let result = try await commands.run("scontrol", ["show", "job", "--oneliner", job.id])
      guard let (code, signal) = SlurmJob.exitCode(result.output) else { return End(exit: nil) }
      // The script says so when the attempt had begun before it.
      if code == SlurmScript.hasBegunBefore, signal == 0 { return End(exit: nil) }
      // The script outlives its command, and says how that ended: who kills both is the machine.
      guard signal == 0 else {
        throw SlurmNodeLost(node: node, job: job.id, state: "signal \(signal)")
      }
      return End(exit: StepExit(.exited(code), node: node))
    }
  }

  private func error(_ message: SlurmMessage) -> any Error {
    switch message.meaning {
    case .nodeLost(let node): SlurmNodeLost(node: node, job: "?")
    case .notShared(let node): SlurmError.notShared(path: place.path, node: node)
    case .cancelled: SlurmError.stopped(job: "?", state: "CANCELLED", node: nil)
    case .refused: SlurmError.refused(message: message.sentence, request: request.description)
    case .unavailable, .other: SlurmError.failed(message: message.sentence)
    }
  }
}
