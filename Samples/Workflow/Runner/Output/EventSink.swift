import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Writes the events of a run to a file, and passes them on with the lines of its steps, one at a
/// time, in the order of ``EventFeed``.
///
/// Who brings an event waits for nothing: one thread writes, a moment later, with what was brought
/// meanwhile. What events are passed on to has another one, and may be as slow as it likes. No code
/// of others runs under a lock.
final class EventSink: Sendable {
  /// What has threads of its own; nil: all happens on the thread that brings it.
  private struct Threads {
    let writing = DispatchQueue(label: "file of events")
    let passingOn = DispatchQueue(label: "events of a run")
  }

  /// To wake a thread for each event would cost more than the events do.
  private static let pauseBeforeWriting = DispatchTimeInterval.milliseconds(5)
  /// How often lines are looked for while attempts go on; without threads they come at the end.
  private static let pauseBetweenLooks = DispatchTimeInterval.milliseconds(50)

  private struct State {
    var feed: EventFeed
    var logs: [Int: LogTail] = [:]
    /// What isn't in the file yet.
    var unwritten: [EventFeed.Item] = []
    var isWriting = false
    var file: OpenFile?
    /// What the file has not taken; it is tried again with what comes next.
    var rest: ArraySlice<UInt8> = []
    /// Why there is a rest.
    var failure: SystemCallError?
    var isPassingOn = false
    /// Whether lines will be looked for when nothing else is to be done.
    var looksLater = false
    var nextLook = DispatchTime.now()
    /// Whether lines that weren't read stay where they are.
    var leavesRest = false
    var atEnd: CheckedContinuation<Void, Never>?
    var hasEnded = false
    var now: @Sendable () -> Duration = { .zero }
    var look: @Sendable () -> Void = {}
  }

  private let state: Mutex<State>
  private let names: [String]
  private let threads: Threads?
  private let secrets: SecretMask
  private let report: @Sendable (RunEvent) -> Void

  /// - Parameters:
  ///   - steps: The names of the steps.
  ///   - needs: For each of them, the places of those that it needs.
  ///   - secrets: What isn't shown.
  ///   - sideWork: Where events are written and passed on.
  ///   - report: Called for each event.
  init(
    _ steps: [String],
    needs: [[Int]],
    hiding secrets: SecretMask = SecretMask(),
    _ sideWork: SideWork,
    _ report: @escaping @Sendable (RunEvent) -> Void
  ) {
    state = Mutex(State(feed: EventFeed(steps, needs: needs)))
    names = steps
    self.secrets = secrets
    threads = sideWork == .ownThreads ? Threads() : nil
    self.report = report
  }

  /// The run begins.
  ///
  /// - Parameters:
  ///   - file: What events are written to as well.
  ///   - now: The time since the begin.
  ///   - look: Called now and then while attempts write to logs.
  func begin(
    _ file: OpenFile?,
    now: @escaping @Sendable () -> Duration,
    look: @escaping @Sendable () -> Void
  ) {
    state.withLock { ($0.file, $0.now, $0.look) = (file, now, look) }
  }

  /// Why the file isn't complete; nil if it is.
  var failure: String? { state.withLock { $0.failure.map { "\($0)" } } }

  /// Has an event written and passed on.
  func send(_ event: RunEvent) { send(.event(event)) }

  /// Has something passed on, and written if it is an event.
  func send(_ item: EventFeed.Item) {
    let isTaken = state.withLock { state in
      state.unwritten.append(item)
      defer { state.isWriting = true }
      return state.isWriting
    }
    if isTaken { return }
    guard let threads else { return write() }
    threads.writing.asyncAfter(deadline: .now() + Self.pauseBeforeWriting) { self.write() }
  }

  private func write() {
    while let (items, file) = nextUnwritten() {
      if let file { write(items, to: file) }
      let isPassingOn = state.withLock { state in
        for item in items { state.feed.happened(item) }
        defer { state.isPassingOn = true }
        return state.isPassingOn
      }
      if isPassingOn { continue }
      if let threads { threads.passingOn.async { self.passOn() } } else { passOn() }
    }
  }

  /// Has what was brought written without the moment in which more may come.
  func writeNow() { threads?.writing.async { self.write() } }

  /// Lines that haven't been read stay in the logs, and it is said how much that is.
  func leaveRest() { state.withLock { $0.leavesRest = true } }

  /// Returns when the end of the run was passed on.
  func waitForEnd() async {
    // Nothing comes any more that it could be written with.
    writeNow()
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.atEnd = continuation }
        return state.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }

  // MARK: The file

  private func nextUnwritten() -> ([EventFeed.Item], OpenFile?)? {
    state.withLock { state in
      if state.unwritten.isEmpty {
        state.isWriting = false
        return nil
      }
      defer { state.unwritten = [] }
      return (state.unwritten, state.file)
    }
  }

  /// The lines of steps are in their logs; the file is for those who look later, and may fail.
  private func write(_ items: [EventFeed.Item], to file: OpenFile) {
    // One thread at a time writes.
    var bytes = state.withLock { $0.rest }
    for case .event(let event) in items {
      bytes += event.jsonLine.utf8
      bytes.append(UInt8(ascii: "\n"))
    }
    if bytes.isEmpty { return }
    var failure: SystemCallError?
    do throws(SystemCallError) { try file.write(takingFrom: &bytes) } catch { failure = error }
    state.withLock { ($0.rest, $0.failure) = (bytes, failure) }
  }

  // MARK: Passing on

  private func passOn() {
    while true {
      switch next() {
      case .pass(let event):
        report(event)
        if case .runEnded = event.kind { end() }
      case .open(let step, let path, let offset):
        state.withLock { $0.logs[step] = LogTail(path, from: offset) }
      case .read(let step, let end, let time): read(step, upTo: end, time)
      case .none: return
      }
    }
  }

  private func next() -> EventFeed.Action {
    let (action, looksLater) = state.withLock { state in
      let action = state.feed.next()
      guard case .none = action else { return (action, false) }
      state.isPassingOn = false
      let looksLater = state.feed.isReading && !state.looksLater && threads != nil
      if looksLater { state.looksLater = true }
      return (action, looksLater)
    }
    if looksLater {
      let time = DispatchTime.now() + Self.pauseBetweenLooks
      threads?.passingOn.asyncAfter(deadline: time) {
        self.state.withLock { $0.looksLater = false }
        self.lookForLines()
        self.passOnUnlessIsSo()
      }
    }
    return action
  }

  private func end() {
    let continuation = state.withLock { state in
      state.hasEnded = true
      defer { state.atEnd = nil }
      return state.atEnd
    }
    continuation?.resume()
  }

  private func lookForLines() {
    let look = state.withLock { state in
      state.nextLook = .now() + Self.pauseBetweenLooks
      state.feed.looks()
      return state.look
    }
    look()
  }

  private func passOnUnlessIsSo() {
    let isPassingOn = state.withLock { state in
      defer { state.isPassingOn = true }
      return state.isPassingOn
    }
    if !isPassingOn { passOn() }
  }

  /// Reports the lines of a piece of a log.
  private func read(_ step: Int, upTo end: Int?, _ time: Duration?) {
    let (tail, leavesRest, now) = state.withLock { state in
      (state.logs.removeValue(forKey: step), state.leavesRest, state.now)
    }
    var hasMore = false
    if var tail {
      do throws(LogProblem) {
        if leavesRest, let end {
          throw LogProblem(reason: "the run was to end immediately", bytes: end - tail.offset)
        }
        if !leavesRest {
          hasMore = try tail.read(upTo: end) { line in
            // Not later than what follows from it.
            pass(.printed(step: names[step], line: secrets.masked(line)), time ?? now())
          }
        }
        state.withLock { $0.logs[step] = hasMore || end == nil ? tail : nil }
      } catch {
        if let text = error.text(tail.path) {
          pass(.notice(step: names[step], text), time ?? now())
        }
      }
    }
    if let tail, end != nil, !hasMore { hideSecrets(in: tail.path, of: step, time ?? now()) }
    let isTimeToLook = state.withLock { state in
      state.feed.didRead(step, hasMore: hasMore)
      return hasMore && threads != nil && .now() >= state.nextLook
    }
    // One log may keep the thread for long.
    if isTimeToLook { lookForLines() }
  }

  /// Masks secrets in a log whose lines have been read: a line of which a half was read before is whole
  /// there.
  private func hideSecrets(in log: String, of step: Int, _ time: Duration) {
    do throws(SystemCallError) {
      try secrets.mask(fileAt: log)
    } catch {
      pass(.notice(step: names[step], "its log may show secrets: \(error)"), time)
    }
  }

  private func pass(_ kind: RunEvent.Kind, _ time: Duration) {
    report(RunEvent(time: time, kind: kind))
  }
}
