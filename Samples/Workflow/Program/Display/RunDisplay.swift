import Dispatch
import Synchronization
import TerminalSupport
import WorkflowRunner

/// Gets the events of a run, and shows them.
protocol RunDisplay: Sendable {
  /// Called for each event, in order.
  func show(_ event: RunEvent)
  /// Says something beside the events.
  func say(_ line: StyledLine)
  /// Shows what hasn't been shown, and takes away what isn't to stay.
  func end()
  /// The same unless that would wait for a reader.
  func endIfPossible()
  /// Leaves the terminal to a step, or has it back: nil.
  func lendTerminal(to step: String?)
  /// Leaves the terminal to the shell, until ``goOn()``: Ctrl-Z stops the program.
  func pause(stopsSteps: Bool)
  /// Shows again what it does.
  func goOn()
}

extension RunDisplay {
  /// Nothing has to be taken away from lines, and who reads them may be stopped as well.
  func lendTerminal(to step: String?) {}
  func pause(stopsSteps: Bool) {}
  func goOn() {}
}

/// One line of JSON for each event.
struct JSONDisplay: RunDisplay {
  let write: @Sendable (String) -> Void
  let notice: @Sendable (StyledLine) -> Void

  func show(_ event: RunEvent) { write(event.jsonLine + "\n") }
  func say(_ line: StyledLine) { notice(line) }
  func end() {}
  func endIfPossible() {}
}

/// Lines, one after the other; while a step has the terminal they wait.
final class PlainDisplay: RunDisplay {
  private struct State {
    var lines: RunLines
    /// What waits for a step that has the terminal; nil: none has it.
    var held: [TerminalText]?
  }

  private let state: Mutex<State>
  private let colour: Bool
  private let write: @Sendable (TerminalText) -> Void

  init(_ detail: RunLines.Detail, colour: Bool, write: @escaping @Sendable (TerminalText) -> Void) {
    state = Mutex(State(lines: RunLines(detail)))
    self.colour = colour
    self.write = write
  }

  func show(_ event: RunEvent) {
    for line in state.withLock({ $0.lines.lines(of: event) }) { say(line) }
  }

  func say(_ line: StyledLine) {
    let text = line.terminalText(colour: colour) + "\n"
    let isHeld = state.withLock { state in
      state.held?.append(text)
      return state.held != nil
    }
    if !isHeld { write(text) }
  }

  func lendTerminal(to step: String?) {
    if let step {
      say(RunLines.lent(to: step))
      return state.withLock { $0.held = [] }
    }
    let held = state.withLock { state in
      defer { state.held = nil }
      return state.held ?? []
    }
    held.forEach(write)
  }

  func end() { lendTerminal(to: nil) }
  func endIfPossible() { end() }
}

/// A terminal's bottom, redrawn ten times a second at most, with what has ended above.
///
/// Events only change a state under a lock; a queue of its own reads it and writes. So a terminal
/// that doesn't take more, because of Ctrl-S for example, holds up nothing.
final class LiveDisplay: RunDisplay, @unchecked Sendable {
  struct Size: Sendable {
    var width: Int
    var height: Int
  }

  private struct State {
    var view: RunView
    var lines = RunLines(.ends)
    var above: [StyledLine] = []
  }

  /// What is at the bottom of the terminal.
  private struct Bottom {
    var block: LiveBlock
    var isPaused = false
    var isLent = false
    var hasEnded = false
  }

  private let state: Mutex<State>
  private let bottom: Mutex<Bottom>
  private let size: @Sendable () -> Size?
  private let now: @Sendable () -> Duration
  private let write: @Sendable (TerminalText) -> Void
  // Sendable: sources may be used from any thread; this one is set up once.
  private let timer: any DispatchSourceTimer

  init(
    _ view: RunView,
    colour: Bool,
    size: @escaping @Sendable () -> Size?,
    now: @escaping @Sendable () -> Duration,
    write: @escaping @Sendable (TerminalText) -> Void
  ) {
    state = Mutex(State(view: view))
    bottom = Mutex(Bottom(block: LiveBlock(colour: colour)))
    self.size = size
    self.now = now
    self.write = write
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "display"))
    timer.setEventHandler { [weak self] in self?.redraw() }
    // Never fires until it is scheduled; one that was never resumed couldn't be released.
    timer.resume()
  }

  /// Begins to redraw.
  func begin() {
    timer.schedule(deadline: .now(), repeating: .milliseconds(100), leeway: .milliseconds(10))
  }

  func show(_ event: RunEvent) {
    state.withLock { state in
      state.view.apply(event)
      state.above += state.lines.lines(of: event)
    }
  }

  func say(_ line: StyledLine) { state.withLock { $0.above.append(line) } }

  /// Writes what has changed.
  func redraw() {
    bottom.withLock { bottom in
      if !bottom.isPaused, !bottom.isLent { redraw(&bottom.block, isLast: false) }
    }
  }

  func end() {
    timer.cancel()
    bottom.withLock { end(&$0) }
  }

  func endIfPossible() {
    timer.cancel()
    bottom.withLockIfAvailable { end(&$0) }
  }

  private func end(_ bottom: inout Bottom) {
    bottom.hasEnded = true
    redraw(&bottom.block, isLast: true)
  }

  func pause(stopsSteps: Bool) {
    bottom.withLock { bottom in
      if bottom.hasEnded { return }
      bottom.isPaused = true
      let words = stopsSteps ? "stopped, and so are steps" : "stopped; running steps continue"
      say(StyledLine("⊘ ", .yellow) + StyledLine("\(words): “fg” resumes all"))
      // What the shell writes from now on would be written over.
      redraw(&bottom.block, isLast: true)
    }
  }

  func lendTerminal(to step: String?) {
    bottom.withLock { bottom in
      bottom.isLent = step != nil
      guard let step, !bottom.hasEnded else { return }
      say(RunLines.lent(to: step))
      redraw(&bottom.block, isLast: true)
    }
  }

  func goOn() { bottom.withLock { $0.isPaused = false } }

  private func redraw(_ block: inout LiveBlock, isLast: Bool) {
    let (size, now) = (size(), now())
    let (above, view) = state.withLock { state in
      defer { state.above = [] }
      return (state.above, state.view)
    }
    // Below what is there, somebody else has written since.
    if size == nil { block.forget() }
    let (width, height) = (size?.width ?? StandardStream.usualWidth, size?.height ?? 1)
    let lines =
      isLast || size == nil ? [] : RunFrame.lines(view, now: now, width: width, height: height)
    if let text = block.update(above: above, lines: lines, width: width, height: height) {
      write(text)
    }
  }
}
