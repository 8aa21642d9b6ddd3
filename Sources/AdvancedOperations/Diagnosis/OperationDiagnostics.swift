import CoreOperations
import Dispatch
import Synchronization

/// Reports about all operations of a process that is slow or hangs.
///
/// ```swift
/// OperationDiagnostics.reportOn(signal: SIGUSR1)
/// ```
///
/// At the beginning of `main`, this call makes `kill -USR1` print a report to the standard error. A report
/// names root causes first: the operations, queues and conditions for which all others wait.
///
/// A report contains the queues that were created after the first call of ``startRecording()``,
/// ``reportOn(signal:to:)`` or ``watch(every:stuckAfter:log:)``, and the main queue. The report needs
/// neither the main thread nor a thread of a pool. It holds no lock while it calls code of the
/// program, which is an override of `name`, `isFinished` or `isExecuting`, the name of a condition, or a
/// custom clock.
public enum OperationDiagnostics {
  private static let errorsAreShown = Atomic(false)

  /// Whether reports contain the texts of errors, which may contain secrets; false at first.
  public static var showsErrors: Bool {
    get { errorsAreShown.load(ordering: .relaxed) }
    set { errorsAreShown.store(newValue, ordering: .relaxed) }
  }

  /// Records each queue that is created from now on, so that reports contain its operations.
  ///
  /// Call it at the beginning of `main`. ``reportOn(signal:to:)`` and
  /// ``watch(every:stuckAfter:log:)`` also begin the recording. A queue costs one entry in a list,
  /// and an operation costs nothing.
  public static func startRecording() { LiveQueues.record() }

  /// The operations of all recorded queues: root causes, then counts, then the longest waits of each queue.
  ///
  /// Of many root causes, six are shown: the three for which operations have lost most time together, then the
  /// three oldest of the others.
  ///
  /// - Complexity: O(v + e), v the number of operations in the queues and in the way of these, and e the
  ///   number of their waits. The length of the text is bounded.
  public static var report: String { makeReport(showsErrors: showsErrors) }

  package static func makeReport(showsErrors: Bool) -> String {
    if !LiveQueues.isRecording {
      return
        "No queue is recorded. Call OperationDiagnostics.startRecording() at the beginning of the "
        + "program, before it creates queues."
    }
    return OperationReport(of: LiveQueues.busy, showsErrors: showsErrors).text
  }

  /// Writes a report whenever the process receives a signal, and lets the process continue.
  ///
  /// The handler only wakes a dedicated thread, which creates the report. Several signals that arrive
  /// together may get one report. A second call for the same signal replaces the file descriptor. A child
  /// process that executes another program has the default handler.
  ///
  /// If the report isn't ready after five seconds, the thread writes that, and the report follows when it is
  /// ready. The reason may be an override of `name` that doesn't return.
  ///
  /// - Parameters:
  ///   - signal: A signal for which the program has no handler, such as `SIGUSR1`, `SIGUSR2` or `SIGINFO`.
  ///   - fileDescriptor: A descriptor that stays open; the standard error by default.
  /// - Precondition: A handler can be installed for the signal. The signal doesn't report a fault of the
  ///   program, such as `SIGSEGV`. The signal isn't `SIGINT`, `SIGTERM`, `SIGPIPE` or `SIGCHLD`, because the process
  ///   and its libraries rely on the effects of these.
  public static func reportOn(signal: Int32, to fileDescriptor: Int32 = 2) {
    startRecording()
    do {
      try ProcessSignals.handle(signal) { answer(to: fileDescriptor) }
    } catch {
      switch error {
      case .unsuitable:
        trap(
          "reportOn(signal:to:) was called with the signal \(signal), which doesn't exist, reports a fault, or "
            + "has another use in each process. Pass SIGUSR1, SIGUSR2 or a similar signal."
        )
      case .refused:
        let text =
          "There are no reports on signal \(signal): the system refuses a pipe or a thread."
        Output.send(text + "\n", to: fileDescriptor)
      }
    }
  }

  /// Writes a report, and limits the wait of the calling thread for it.
  ///
  /// If an earlier report isn't ready, the call waits for that report. Code that doesn't return therefore
  /// keeps one thread only.
  package static func answer(to fileDescriptor: Int32, patience: Double = 5) {
    let isDone = DispatchSemaphore(value: 0)
    let isFirst = readers.withLock { readers in
      readers.append(ReportReader(fileDescriptor: fileDescriptor, isDone: isDone))
      return readers.count == 1
    }
    if isFirst {
      let write: @Sendable () -> Void = {
        let text = report + "\n"
        for reader in readers.withLock({ exchange(&$0, with: []) }) {
          Output.send(text, to: reader.fileDescriptor)
          reader.isDone.signal()
        }
      }
      // Without a second thread, code that doesn't return keeps this one.
      if DetachedThread.launch(write) != 0 { return write() }
    }
    if isDone.wait(timeout: .now() + patience) == .success { return }
    let text = "The report isn't ready after \(patience) s. \(reasonOfDelay)\n"
    Output.send(text, to: fileDescriptor)
  }

  private struct ReportReader: Sendable {
    let fileDescriptor: Int32
    let isDone: DispatchSemaphore
  }

  /// The calls that wait for the report that is being created.
  private static let readers = Locked<[ReportReader]>([])

  private static var reasonOfDelay: String {
    let counts = LiveQueues.busy.filter { !$0.isHidden }
      .map { "\($0.operationCount) in queue “\($0.label)”" }
    return
      "There are many operations, or code of the program that the report calls, such as a name or "
      + "isFinished, doesn't return. Operations: \(counts.briefList)"
  }

  /// Watches all recorded queues, and logs the root causes that last for too long.
  ///
  /// A cause is logged when it has lasted for `limit`, and again each time its age has doubled. All
  /// operations that wait for the same cause are one entry. Log entries are few even after days: 64 times the
  /// limit is seven entries.
  ///
  /// ```swift
  /// let watch = OperationDiagnostics.watch(stuckAfter: .seconds(60)) { logger.warning("\($0)") }
  /// ```
  ///
  /// The duration of an async body or condition is known. For any other cause, the duration begins when the
  /// watch has first seen the cause. A delay that ends at a known time isn't a cause: the delay before another
  /// attempt, for example, or the wait for a rate.
  ///
  /// If a check hasn't ended after five seconds, the watch logs that, and again each time that the age of the
  /// check has doubled. The reason may be an override of `name` that doesn't return.
  ///
  /// - Parameters:
  ///   - interval: The duration between two checks.
  ///   - limit: The age at which a cause is logged first.
  ///   - log: A closure that is called on the thread of the watch, once for all causes that are due after a
  ///     check.
  /// - Returns: The watch, which continues until you call `remove()`.
  /// - Precondition: Both durations are positive.
  @discardableResult
  public static func watch(
    every interval: Duration = .seconds(30),
    stuckAfter limit: Duration = .seconds(300),
    log: @escaping @Sendable (String) -> Void
  ) -> OperationObservation {
    if interval <= .zero || limit <= .zero {
      trap(
        "watch(every:stuckAfter:log:) was called with the durations \(interval) and \(limit). Pass positive "
          + "durations."
      )
    }
    return startWatch(every: interval, stuckAfter: limit, log: log)
  }

  /// Starts a watch.
  ///
  /// - Parameters:
  ///   - interval: The duration between two checks.
  ///   - limit: The age at which a cause is logged first.
  ///   - patience: The seconds after which a check that hasn't ended is logged, and again each time that its
  ///     age has doubled.
  ///   - log: A closure that is called on the thread of the watch.
  /// - Returns: The watch.
  package static func startWatch(
    every interval: Duration,
    stuckAfter limit: Duration,
    patience: Double = 5,
    log: @escaping @Sendable (String) -> Void
  ) -> OperationObservation {
    startRecording()
    let isOver = DispatchSemaphore(value: 0)
    let error = DetachedThread.launch {
      let check = StuckCheck(limit: limit)
      while isOver.wait(timeout: .now() + interval / .seconds(1)) == .timedOut {
        // Another thread checks, because the check calls code of the program.
        if DetachedThread.launch({ check.run() }) != 0 { check.run() }
        var age = patience
        while check.isDone.wait(timeout: .now() + age) == .timedOut {
          if isOver.wait(timeout: .now()) == .success { return }
          log("A check for stuck operations hasn't ended after \(age) s. \(reasonOfDelay)")
          age *= 2
        }
        if let text = check.text.take() { log(text) }
      }
    }
    if error != 0 { log("Operations aren't watched: the system refuses a thread.") }
    return OperationObservation(removal: { isOver.signal() })
  }

  /// The checks of a watch, one after the other.
  private final class StuckCheck: @unchecked Sendable {
    // Sendable: the thread of a check hands the variables over to the thread of the watch, with the semaphore.
    private var stuck: StuckCauses
    var text: String?
    let isDone = DispatchSemaphore(value: 0)

    init(limit: Duration) { stuck = StuckCauses(limit: limit) }

    func run() {
      let report = OperationReport(of: LiveQueues.busy, showsErrors: showsErrors)
      let now = Duration.nanoseconds(MonotonicClock.nanoseconds)
      text = report.text(ofDue: &stuck, at: now)
      isDone.signal()
    }
  }
}
