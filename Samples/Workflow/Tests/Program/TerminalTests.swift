#if os(Linux)
import Foundation
import Testing

/// Runs of the built program in a terminal that a person looks at.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The program in a terminal` {
  private let place: RunPlace

  init() throws { place = try RunPlace() }

  private static let steps = """
    name: long
    steps:
      - {id: quick, command: "echo done"}
      - {id: slow, command: "trap 'echo ending; exit 1' TERM; echo begun; while :; do sleep 0.1 || true; done"}
      - {id: later, command: "true", needs: slow}
    """

  @Test func `shows what it does, and leaves nothing of the display after Ctrl-C`() throws {
    try place.write(Self.steps)
    let terminal = try PseudoTerminal(width: 60, height: 12)
    let process = try place.start(terminal, ["run", "w.yml", "--jobs", "3"])
    terminal.wait(for: " 1 of 3  ")
    let during = terminal.wait(for: "s  begun")
    #expect(during.text.contains("\n✓ quick"))
    #expect(during.text.contains("\n▸ slow "))
    #expect(during.text.contains("\n    later for slow\n"))
    #expect(during.text.contains(" 33 %  1 of 3  "))
    terminal.type("\u{3}")
    terminal.wait(for: "# run what isn't done")
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
    let screen = terminal.screen
    let lines = screen.text.split(separator: "\n")
    #expect(lines.contains("⊘ ending because of Ctrl-C: steps are asked to end, Ctrl-C a"))
    #expect(lines.contains { $0.hasPrefix("⊘ slow  cancelled: Ctrl-C  ") })
    #expect(lines.contains { $0.hasPrefix("⊘ long was cancelled after ") })
    for left in ["▸", "━", "┄", "^C", "later"] { #expect(!screen.text.contains(left)) }
    #expect(screen.unknown.isEmpty)
    // It was asked, and not killed.
    #expect(try place.run("log", "last", "slow").output.hasSuffix("ending\n"))
  }

  @Test func `a second Ctrl-C ends the program and all its processes immediately`() throws {
    try place.write(
      """
      steps:
        - {id: deaf, command: "trap '' TERM INT; echo $$ > pid; echo begun; while :; do sleep 0.1 || true; done"}
      """
    )
    let terminal = try PseudoTerminal()
    let process = try place.start(terminal, ["run", "w.yml"])
    terminal.wait(for: "s  begun")
    terminal.type("\u{3}")
    terminal.wait(for: "Ctrl-C again kills them")
    // Later than one that is sent twice: the display has gone on for a second.
    terminal.wait(for: " 1 s  ending")
    terminal.type("\u{3}")
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
    let number = try #require(Int32(try place.read("pid").dropLast()))
    #expect(!ProcessState.isAlive(number))
    let screen = terminal.wait(for: nil)
    for left in ["▸", "┄"] { #expect(!screen.text.contains(left), "\(screen.text)") }
    #expect(screen.text.contains("\n⊘ w was cancelled after "))
  }

  @Test func `writes lines where the terminal can't do more, and colours only if they are wanted`()
    throws
  {
    try place.write("steps: [{id: a, command: echo hello}]")
    for (environment, isLive, isColoured) in [
      (["TERM": "dumb"], false, false), (["TERM": "xterm", "NO_COLOR": "1"], true, false),
      (["TERM": "xterm"], true, true),
    ] {
      let terminal = try PseudoTerminal()
      let process = try place.start(terminal, ["run", "w.yml"], environment)
      let text = terminal.wait(for: "succeeded after").text
      process.waitUntilExit()
      #expect(terminal.written.contains("\u{1B}[J") == isLive)
      #expect(terminal.written.contains("\u{1B}[32m") == isColoured)
      #expect(text.contains("a │ hello") == !isLive)
      #expect(text.contains("✓ a"))
    }
  }

  @Test func `shows nothing that a step prints to control the terminal`() throws {
    try place.write(
      #"steps: [{id: a, command: "printf '\\033[2J\\033]0;evil\\007\\033[31mred\\n'; exit 1"}]"#
    )
    for arguments in [["run", "w.yml"], ["log", "last", "a"]] {
      let terminal = try PseudoTerminal()
      let process = try place.start(terminal, arguments)
      let screen = terminal.wait(for: arguments[0] == "run" ? "# why it failed" : "red")
      process.waitUntilExit()
      #expect(screen.text.contains("red"))
      #expect(!terminal.written.contains("\u{1B}[2J"))
      #expect(!terminal.written.contains("evil"))
      #expect(screen.unknown.isEmpty)
    }
  }
}
#endif
