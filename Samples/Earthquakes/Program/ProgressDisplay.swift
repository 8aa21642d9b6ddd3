import AdvancedOperations
import EarthquakeWorkflow
import Synchronization
import TerminalSupport

/// Shows people how far the workflow is: a line that changes, or a line for each step.
///
/// It is fed by observers, which are called on whichever thread makes the event.
final class ProgressDisplay: Sendable {
  enum Style {
    /// One line that is written over; for terminals.
    case live
    /// A line for each step that begins; for files and pipes.
    case lines
    /// Nothing.
    case quiet
  }

  private let style: Style
  private let width: @Sendable () -> Int
  private let write: @Sendable (TerminalText) -> Void
  /// What the live line shows; empty when there is none.
  private let shown = Mutex<TerminalText>("")

  /// Creates a display.
  ///
  /// - Parameters:
  ///   - style: How to show progress.
  ///   - width: The columns of the terminal at the moment; it may be resized meanwhile.
  ///   - write: Writes to the terminal or file.
  init(
    style: Style,
    width: @escaping @Sendable () -> Int,
    write: @escaping @Sendable (TerminalText) -> Void
  ) {
    self.style = style
    self.width = width
    self.write = write
  }

  /// Shows the progress of these steps from now on, and why one of them is tried again.
  func observe(_ steps: [AdvancedOperation]) {
    let retries = BlockObserver(willRetry: { [self] step, retry in
      say("“\(step.name ?? "")” failed and is retried in \(retry.delay): \(retry.error)")
    })
    for step in steps { step.addObserver(retries) }
    switch style {
    case .quiet: return
    case .live:
      let observer = ProgressObserver { [self] progress, executing in
        show(
          ProgressLine(
            fraction: progress.fractionCompleted,
            executing: executing.map(\.name),
            width: width()
          )
        )
      }
      for step in steps { step.addObserver(observer) }
    case .lines:
      for (index, step) in steps.enumerated() {
        step.onStart { [self] step in
          write("\(index + 1)/\(steps.count) \(step.name ?? "")\n")
        }
      }
    }
  }

  /// Writes a line of its own; the live line goes on after it.
  func say(_ text: TerminalText) {
    if style == .quiet { return }
    shown.withLock { shown in write(Self.erasure(of: shown) + text + "\n" + shown) }
  }

  /// Takes the live line away; call it before others write to the terminal.
  func end() {
    shown.withLock { shown in
      write(Self.erasure(of: shown))
      shown = ""
    }
  }

  /// Takes the live line away unless something is being written at the moment.
  func endIfIdle() {
    shown.withLockIfAvailable { shown in
      write(Self.erasure(of: shown))
      shown = ""
    }
  }

  private func show(_ line: ProgressLine) {
    let line: TerminalText = "\(line)"
    shown.withLock { shown in
      // A step reports far more often than its line changes.
      if line == shown { return }
      write(Self.erasure(of: shown) + line)
      shown = line
    }
  }

  private static func erasure(of line: TerminalText) -> TerminalText {
    line == "" ? "" : "\r\u{1B}[K"
  }
}
