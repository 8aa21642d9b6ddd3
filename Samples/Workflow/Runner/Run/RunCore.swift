import AdvancedOperations
import AdvancedOperationsVisualization
import Synchronization
import WorkflowDocument

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the operations of a run share.
final class RunCore: Sendable {
  /// The operations of the steps, and the group that they are in.
  struct Made: Sendable {
    let steps: [ResultOperation<StepEnd>]
    let group: GroupOperation
  }

  struct Problems {
    var journal: JournalError?
    var rollbacks: [String] = []
    /// What would have been undone if the run had not been killed.
    var notUndone: [String] = []
  }

  /// What is known once the run begins.
  struct Begun: Sendable {
    let journal: JournalFile
    let lock: RunLock
    /// Those of the runner.
    let variables: [String: String]
    /// What steps run in.
    let directory: String
    /// Whether an earlier process had begun the run.
    let isResumed: Bool
    let time: Duration
  }

  let workflow: Workflow
  /// The steps of the workflow that belong to the run.
  let steps: [Step]
  let folder: RunFolder
  let unfinished: UnfinishedOutputs
  let earlierOutputs: EarlierOutputs
  let runName: String
  let engine: any StepEngine
  let options: WorkflowRun.Options
  let environment: OperationEnvironment
  let sink: EventSink
  let secrets = SecretMask()
  let recorder = TimelineRecorder()
  let waits: WaitWatch
  let slots: Slots
  let gate = TakeUpGate()
  let sideWork: SideWork
  /// The steps whose ends others may have to wait for: they are needed, or have claims.
  let holdingUp: Set<Int>
  private let problem: RunError?

  let state: Mutex<RunState>
  let left = Mutex(LeftRollbacks())
  private let made = Mutex<Made?>(nil)
  private let begun = Mutex<Begun?>(nil)
  /// Why the journal can't be written any more; what rollbacks threw.
  let problems = Mutex(Problems())

  init(
    _ workflow: Workflow,
    _ folder: RunFolder,
    _ engine: any StepEngine,
    _ options: WorkflowRun.Options,
    _ environment: OperationEnvironment,
    _ sideWork: SideWork,
    _ report: @escaping @Sendable (RunEvent) -> Void
  ) {
    self.workflow = workflow
    // Steps run in other folders than the runner.
    self.folder = RunFolder(folder.path.path(in: FileManager.default.currentDirectoryPath))
    unfinished = UnfinishedOutputs(beside: self.folder)
    runName = self.folder.name
    self.engine = engine
    self.options = options
    self.environment = environment
    do throws(Workflow.UnknownSteps) {
      steps = options.only.isEmpty ? workflow.steps : try workflow.only(options.only).steps
      problem = workflow.missingResource(in: steps)
    } catch {
      steps = []
      problem = .noStep(error.names[0].name)
    }
    earlierOutputs = EarlierOutputs(of: steps, in: workflow.name, before: self.folder)
    state = Mutex(RunState(steps))
    let places = Dictionary(steps.enumerated().map { ($1.id, $0) }) { first, _ in first }
    let needs = steps.map { $0.predecessors.compactMap { places[$0] } }
    self.sideWork = sideWork
    holdingUp = Set(needs.joined()).union(steps.indices.filter { [steps] in steps[$0].hasClaims })
    sink = EventSink(steps.map(\.id), needs: needs, hiding: secrets, sideWork, report)
    waits = WaitWatch(clock: environment.clock)
    slots = Slots(jobs: max(options.jobs, 1))
  }

  // MARK: What there is

  /// Where the run is; nil before it begins.
  var current: Begun? { begun.withLock { $0 } }

  /// The operations of the steps, in the order of the file.
  var operations: [ResultOperation<StepEnd>] { parts.steps }

  /// The operations; made when they are needed first, which may be for a picture only.
  private var parts: Made {
    if let parts = made.withLock({ $0 }) { return parts }
    let new = makeOperations()
    return made.withLock { made in
      if let made { return made }
      made = new
      return new
    }
  }

  var group: GroupOperation { parts.group }

  /// The other machines that steps ran on, by the ids of the steps: `n1`, and `n1, n2` if one was
  /// lost.
  var nodes: [String: String] {
    state.withLock { state in
      var nodes: [String: String] = [:]
      for (step, known) in zip(steps, state.steps) {
        let all = known.nodes.isEmpty ? [known.end?.node].compactMap { $0 } : known.nodes
        if !all.isEmpty { nodes[step.id] = all.joined(separator: ", ") }
      }
      return nodes
    }
  }

  /// The ids of steps that succeeded and were undone.
  var undone: Set<String> {
    let known = state.withLock { $0.steps }
    return Set(zip(steps, known).filter { $1.isUndone }.map { $0.0.id })
  }

  /// Tells what has happened.
  func send(_ kind: RunEvent.Kind) {
    var kind = kind
    switch kind {
    case .waiting(let step, let text): kind = .waiting(step: step, for: secrets.masked(text))
    case .notice(let step, let text): kind = .notice(step: step, secrets.masked(text))
    default: break
    }
    let time = current.map { environment.clock.now - $0.time } ?? .zero
    sink.send(RunEvent(time: time, kind: kind))
  }

  // MARK: Running

  func run() async throws -> RunEnd {
    if let problem { throw problem }
    // Of a large file each takes as long as some steps.
    async let fingerprint = WorkflowFingerprint.text(of: workflow)
    _ = parts
    let isResumed = try begin(as: await fingerprint)
    send(
      .runStarted(
        run: folder.name,
        workflow: workflow.name,
        steps: steps.count,
        isResumed: isResumed
      )
    )
    // Each process that goes on with a run is to be told apart, however soon it is killed.
    sink.writeNow()
    if let deadline = options.deadline { limit(to: deadline) }
    if isResumed {
      await endLeftovers()
      await finishRollbacks()
    }
    waits.begin { [weak self] operation, cause in
      guard let self, let step = operation.name else { return }
      send(.waiting(step: step, for: RunWords.wait(cause)))
    }
    let group = group
    group.mapChildErrors { [weak self] operation, error in self?.childFailed(operation, error) }
    let queue = AdvancedOperationQueue(name: workflow.name, environment: environment)
    if let reason = state.withLock({ $0.cancelReason }) {
      group.cancel(withError: RunCancelled(reason: reason))
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        group.onFinish { _, _ in continuation.resume() }
        queue.addOperation(group)
      }
    } onCancel: {
      cancel(because: "the task that awaits the run was cancelled")
    }
    waits.end()
    return try await end()
  }

  /// Opens the folder, and learns from its journal what is done; returns whether anything was
  /// begun.
  private func begin(as fingerprint: String) throws -> Bool {
    guard let lock = try RunLock(folder) else { throw RunError.isRunning(run: folder.name) }
    let journal = try JournalFile(folder.journal)
    let file = options.file ?? journal.contents?.header.file(from: folder)
    let directory =
      file?.folder ?? folder.folderOfFile ?? FileManager.default.currentDirectoryPath
    let files = try EnvironmentFile.variables(for: workflow, in: directory)
    if let contents = journal.contents {
      guard options.acceptsChanges || contents.fingerprint == fingerprint else {
        throw RunError.workflowChanged(run: folder.name)
      }
      var progress = RunProgress(contents.records, of: workflow)
      if let other = contents.header.folder, folder.isCopy(of: other) {
        // What may be going on is the other one's.
        progress.open = [:]
        for index in progress.unfinishedRollbacks.indices {
          progress.unfinishedRollbacks[index].open = nil
        }
        folder.emptyScratch()
      }
      if let left = progress.left(byOtherThan: engine.name) { throw left }
      resume(progress)
    }
    try folder.makeParts()
    let only = options.only.isEmpty ? nil : options.only
    if journal.contents == nil {
      let header = JournalHeader(
        run: folder.name,
        workflow: workflow.name,
        fingerprint: fingerprint,
        file: file,
        folder: folder.absolutePath,
        begin: Date().timeIntervalSince1970,
        only: only,
        parameters: workflow.parameters.isEmpty ? nil : workflow.parameters.compactMapValues(\.self)
      )
      try journal.append(.begun(header), synced: true)
    } else {
      try journal.append(.resumed(fingerprint: fingerprint, only: only), synced: true)
      // Behind it: after a crash in between, what differs is said once more.
      if options.acceptsChanges, let text = options.fileText {
        try folder.replaceWorkflowFile(with: text)
      }
    }
    var variables = files.merging(options.environment ?? ProcessInfo.processInfo.environment) {
      _,
      ofRunner in ofRunner
    }
    // Each attempt adds its own to a copy, which would have to grow.
    variables.reserveCapacity(variables.count + 16)
    let (clock, time) = (environment.clock, environment.clock.now)
    sink.begin(try? folder.openEvents()) {
      clock.now - time
    } look: { [weak self] in
      self?.noteFullDisk()
    }
    begun.withLock {
      $0 = Begun(
        journal: journal,
        lock: lock,
        variables: variables,
        directory: directory,
        isResumed: journal.contents != nil,
        time: time
      )
    }
    return journal.contents != nil
  }

  private func resume(_ progress: RunProgress) {
    left.withLock { left in
      left.rollbacks = progress.unfinishedRollbacks
      left.outputs = progress.ends.mapValues(\.outputs)
    }
    let open = steps.indices.filter { progress.open[steps[$0].id] != nil }
    gate.close(for: Set(open), of: steps)
    state.withLock { state in
      for (index, step) in steps.enumerated() {
        state.resumed(
          index,
          attempts: progress.attempts[step.id] ?? 0,
          failures: progress.failures[step.id] ?? 0,
          open: progress.open[step.id]
        )
      }
      for id in progress.done {
        guard let index = state.place(of: id), var end = progress.ends[id] else { continue }
        end.isFromJournal = true
        state.wasDone(index, end)
      }
    }
    addRollbacks(ofDone: progress.done)
  }

  /// Writes down how the run has ended, and waits until that was passed on.
  private func end() async throws -> RunEnd {
    defer { begun.withLock { $0 = nil } }
    let end = summary()
    state.withLock { $0.isOver = true }
    append(.runEnded(end: end), synced: true)
    send(.runEnded(end))
    await sink.waitForEnd()
    // What commands had left behind may have printed since.
    if !secrets.isEmpty {
      for step in steps { try? secrets.mask(fileAt: folder.logFile(of: step.id)) }
    }
    if let failure = problems.withLock({ $0.journal }) { throw failure }
    return end
  }

  // MARK: Ending

  /// A step failed: without `keepsGoing`, no other one begins.
  private func childFailed(_ operation: AdvancedOperation, _ error: any Error) -> (any Error)? {
    // What follows from another failure, or from a cancel, is no failure of its own.
    if operation.outcome?.isCancelled == true || operation.errors.first(of: NeedNotDone.self) {
      return nil
    }
    guard let id = operation.name, let index = state.withLock({ $0.place(of: id) }) else {
      return error
    }
    // Its end comes before those of the steps that don't begin because of it.
    finished(index, operation)
    if options.keepsGoing { return error }
    let stop = RunState.Stop.failure(of: id)
    let given = state.withLock { state in state.stops(stop) { steps[$0].followsOutcomes } }
    let operations = operations
    for index in given ?? [] { operations[index].cancel(withError: stop.error) }
    return error
  }

  func cancel(because reason: String) {
    if state.withLock({ $0.isOver }) {
      // What is left is to show what they printed.
      return sink.leaveRest()
    }
    let stop = RunState.Stop.cancel(reason: reason)
    guard state.withLock({ $0.stops(stop) { _ in false } }) != nil else { return }
    send(.cancelling(because: reason))
    guard let group = made.withLock({ $0?.group }) else { return }
    group.cancel(withError: stop.error)
  }

  func kill() {
    guard state.withLock({ $0.killed() }) else { return }
    sink.leaveRest()
    cancel(because: "killed")
    engine.kill()
  }

  /// Has the group cancelled at the deadline, and its steps not retried where that couldn't begin before.
  private func limit(to deadline: RunDeadline) {
    guard let begin = current?.time else { return }
    group.deadline = begin + deadline.duration
    // After any other cancel this does nothing.
    let observer = BlockObserver(didCancel: { [weak self] _, _ in
      self?.cancel(because: deadline.reason)
    })
    group.addObserver(observer)
  }

  // MARK: Records

  /// Writes down what is no step's success; when that fails, the run ends.
  func append(_ record: JournalRecord, synced: Bool) {
    do throws(JournalError) {
      try current?.journal.append(record, synced: synced)
    } catch {
      journalFailed(error)
    }
  }

  func journalFailed(_ error: JournalError) {
    let isFirst = problems.withLock { problems in
      defer { problems.journal = problems.journal ?? error }
      return problems.journal == nil
    }
    // The whole sentence comes at the end, once, and not with each step.
    if isFirst { cancel(because: "the journal can't be written") }
  }

  /// The run was killed before a step could be undone.
  func rollbackDropped(_ step: String) { problems.withLock { $0.notUndone.append(step) } }

  func rollbackFailed(_ step: String, _ reason: String) {
    problems.withLock { $0.rollbacks.append("\(step): its rollback failed: \(reason)") }
  }
}

extension [any Error] {
  /// Whether one of the errors, or what a condition gave, is of a type.
  fileprivate func first<E: Error>(of type: E.Type) -> Bool {
    OperationFailure(elements: map { .init(origin: .body, error: $0) }).first(type) != nil
  }
}
