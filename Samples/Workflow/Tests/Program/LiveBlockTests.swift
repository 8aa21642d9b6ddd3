import Synchronization
import TerminalSupport
import Testing
import WorkflowDocument
import WorkflowRunner

@testable import workflow

@Suite struct `The display of a run in a terminal` {
  private static func lines(_ texts: String...) -> [StyledLine] { texts.map { StyledLine($0) } }

  @Test func `is the last state of the lines, below those that stay`() throws {
    var (block, screen) = (LiveBlock(colour: true), Screen())
    for (above, lines) in [
      ([], Self.lines("a long line", "b")), (Self.lines("✓ x"), Self.lines("c")),
      (Self.lines("✓ y", "✓ z"), Self.lines("d", "e", "f")), ([], Self.lines("g")),
    ] {
      if let text = block.update(above: above, lines: lines, width: 80, height: 24) {
        screen.write(text.text)
      }
    }
    #expect(screen.text == "✓ x\n✓ y\n✓ z\ng")
    #expect(screen.unknown.isEmpty)
    // Below the block, where `^C` does no harm.
    #expect(screen.cursor == (4, 0))
  }

  @Test func `isn't written again if nothing has changed`() {
    var block = LiveBlock(colour: false)
    let lines = Self.lines("a")
    #expect(block.update(above: [], lines: lines, width: 80, height: 24) != nil)
    #expect(block.update(above: [], lines: lines, width: 80, height: 24) == nil)
    #expect(block.update(above: [], lines: [], width: 80, height: 24) != nil)
    #expect(block.update(above: [], lines: [], width: 80, height: 24) == nil)
  }

  @Test func `has nothing left of the block at the end, nor of what the terminal echoed`() {
    var (block, screen) = (LiveBlock(colour: false), Screen())
    for lines in [Self.lines("a", "b"), Self.lines("c", "d")] {
      screen.write(block.update(above: [], lines: lines, width: 80, height: 24)?.text ?? "")
      screen.write("^C")
    }
    screen.write(
      block.update(above: Self.lines("⊘ ended"), lines: [], width: 80, height: 24)?.text ?? ""
    )
    #expect(screen.text == "⊘ ended")
  }

  @Test(arguments: [2, 3, 5, 24])
  func `scrolls by what stays, on a terminal of few rows too`(height: Int) {
    var (block, screen) = (LiveBlock(colour: false), Screen(width: 20, height: height))
    for number in 0..<40 {
      let lines = Array(Self.lines("one \(number)", "two", "three").suffix(height - 1))
      let above = number.isMultiple(of: 2) ? Self.lines("line \(number)") : []
      if let text = block.update(above: above, lines: lines, width: 20, height: height) {
        screen.write(text.text)
      }
    }
    if let text = block.update(above: [], lines: [], width: 20, height: height) {
      screen.write(text.text)
    }
    let expected = stride(from: 0, to: 40, by: 2).map { "line \($0)" }
    #expect(screen.text == expected.joined(separator: "\n"))
  }

  @Test func `is right after the terminal became narrower`() {
    var block = LiveBlock(colour: false)
    _ = block.update(above: [], lines: Self.lines("x" * 30, "y" * 12), width: 80, height: 24)
    // The terminal has broken them into three lines and two.
    var screen = Screen(width: 10)
    screen.write("x" * 30 + "\n" + "y" * 12 + "\n")
    let text = block.update(above: Self.lines("ok"), lines: [], width: 10, height: 24)
    screen.write(text?.text ?? "")
    #expect(screen.text == "ok")
  }

  @Test func `comes from events on any thread, and is drawn when it is asked for`() {
    let screen = Mutex(Screen(width: 60, height: 10))
    let display = LiveDisplay(RunView(.steps(["a": [], "b": ["a"]])), colour: true) {
      LiveDisplay.Size(width: 60, height: 10)
    } now: {
      .seconds(3)
    } write: { text in
      screen.withLock { $0.write(text.text) }
    }
    display.show(.at(0, .runStarted(run: "r", workflow: "w", steps: 2, isResumed: false)))
    display.show(.at(1, .started(step: "a", attempt: 1, node: nil)))
    display.show(.at(1, .printed(step: "a", line: "working")))
    display.redraw()
    let bar = String(repeating: "┄", count: 30)
    #expect(
      screen.withLock { $0.text }
        == "w: 2 steps, run r\n▸ a   2 s  working\n  1 waits: 1 for other steps\n    b for a\n"
        + "\(bar)   0 %  0 of 2  3 s"
    )
    display.say(StyledLine("a notice"))
    display.show(.at(2, .ended(step: "a", StepEnd(outcome: .failed, reason: "no", attempts: 1))))
    display.end()
    #expect(screen.withLock { $0.text } == "w: 2 steps, run r\na notice\n✗ a  no  0.00 s")
    #expect(screen.withLock { $0.unknown } == [])
  }
}

/// A text some times.
private func * (text: String, count: Int) -> String { String(repeating: text, count: count) }
