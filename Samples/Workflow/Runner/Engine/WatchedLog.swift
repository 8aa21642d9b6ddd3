/// The log of a command that runs: ``LogWatch`` reads it now and then, and the attempt reads the
/// rest; one at a time.
actor WatchedLog {
  private var tail: LogTail
  /// Then a look that comes late reads nothing any more.
  private var hasEnded = false
  private let report: @Sendable (String) -> Void

  /// - Parameters:
  ///   - tail: The log, from where the command begins.
  ///   - report: Called for each line.
  init(_ tail: LogTail, report: @escaping @Sendable (String) -> Void) {
    self.tail = tail
    self.report = report
  }

  /// Reports the lines that have come.
  func read() {
    if !hasEnded { tail.read(report) }
  }

  /// The command has ended: reports the rest.
  func finish() {
    hasEnded = true
    tail.finish(report)
  }
}
