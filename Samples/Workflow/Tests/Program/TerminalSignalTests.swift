#if os(Linux)
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// What a terminal's keys, its end and other signals do to a run, and what `resume` makes of that.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The program in a terminal that interrupts it` {
  private let place: RunPlace

  init() throws { place = try RunPlace() }

  private static let controlC = "\u{3}"
  private static let controlZ = "\u{1A}"
  private static let quit = "\u{1C}"

  /// A step that can be undone, and one behind it that goes on until it is ended, with a process of
  /// its own beside it; both have ended well when there is a file `go`.
  private func steps(atTerm trap: String, undo: String = "echo >> undone") -> String {
    // The second shell says that they have begun: a signal that came to it before it had set its
    // trap would be lost.
    // A shell that is stopped while it waits for another program to begin isn't seen to be.
    let loop = "while [ -e w.yml ]; do sleep 0.1 & wait $! || true; done"
    return """
      name: long
      steps:
        - {id: made, command: echo >> made, on-rollback: '\(undo)'}
        - id: slow
          needs: made
          command: |
            [ ! -e go ] || exit 0
            trap '\(trap)' TERM
            (trap '\(trap)' TERM
              while [ ! -s pids ]; do sleep 0.01 & wait $! || true; done
              echo begun; \(loop)) &
            echo $$ $! > pids
            \(loop)
        - {id: later, command: "true", needs: slow}
      """
  }

  private static let patient = ["run", "w.yml", "--grace-period", "1h"]

  /// Starts a run of ``steps(atTerm:undo:)``, and returns when its long step goes on.
  private func begin(_ terminal: PseudoTerminal, _ file: String) throws -> Process {
    try place.write(file)
    let process = try place.start(terminal, Self.patient)
    terminal.wait(for: "s  begun")
    return process
  }

  /// The processes that steps have written down.
  private var processes: [Int32] {
    get throws { try place.read("pids").split { !$0.isNumber }.compactMap { Int32($0) } }
  }

  /// The program.
  private var runner: Int32 {
    get throws { try #require(Int32(try place.read("runner").dropLast())) }
  }

  private func count(_ name: String) -> Int {
    ((try? place.read(name)) ?? "").count { $0 == "\n" }
  }

  private func expectNoneLeft() throws {
    let processes = try processes
    #expect(processes.count == 2)
    // Killed before the program has ended, they may take their time on a busy machine.
    try wait(until: "the steps’ processes are gone") {
      !processes.contains { ProcessState.isAlive($0) }
    }
  }

  /// Nothing of what was drawn over is left.
  private func expectClean(_ screen: Screen) {
    for left in ["▸", "━", "┄", "^C", "^\\", "later for slow"] {
      #expect(!screen.text.contains(left), "\(screen.text)")
    }
    #expect(screen.unknown.isEmpty)
  }

  /// Reads to the end of the program, which has a status, and leaves no processes and a clean screen.
  private func end(
    of process: Process,
    in terminal: PseudoTerminal,
    status: Int32,
    undone: Int,
    _ location: SourceLocation = #_sourceLocation
  ) throws -> Screen {
    let screen = terminal.wait(for: nil)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit, sourceLocation: location)
    #expect(process.terminationStatus == status, sourceLocation: location)
    #expect(count("undone") == undone, sourceLocation: location)
    try expectNoneLeft()
    expectClean(screen)
    return screen
  }

  /// Goes on with the run when its long step can succeed.
  private func resume() throws {
    try place.write("", to: "go")
    let end = try place.run("resume", "last")
    #expect(end.status == 0, "\(end)")
    #expect(end.output.contains("✓ long succeeded"))
  }

  @Test func `asks all processes to end at Ctrl-C, undoes what was done, and does it again later`()
    throws
  {
    let terminal = try PseudoTerminal()
    let process = try begin(terminal, steps(atTerm: "echo asked >> asked; exit 1"))
    terminal.type(Self.controlC)
    let screen = try end(of: process, in: terminal, status: 130, undone: 1)
    #expect(count("asked") == 2)
    #expect(screen.text.contains("\n⊘ slow  cancelled: Ctrl-C  "))
    try resume()
    #expect(count("made") == 2)
    #expect(count("undone") == 1)
  }

  @Test(arguments: ["INT", "TERM", "QUIT"])
  func `a second signal kills all processes, and a resume continues later`(
    second: String
  ) throws {
    // Later than one that is sent twice, and the first is answered.
    let terminal = try PseudoTerminal()
    let process = try begin(terminal, steps(atTerm: "sleep 0.1 || true; echo deaf"))
    terminal.type(Self.controlC)
    terminal.wait(for: "s  deaf")
    switch second {
    case "INT": terminal.type(Self.controlC)
    case "QUIT": terminal.type(Self.quit)
    default: kill(try runner, SIGTERM)
    }
    let screen = try end(of: process, in: terminal, status: 130, undone: 0)
    #expect(screen.text.contains("made was not undone, because the run was killed"))
    try resume()
    #expect(count("made") == 1)
  }

  @Test func `has the status of the first of two signals`() throws {
    let terminal = try PseudoTerminal()
    let process = try begin(terminal, steps(atTerm: "sleep 0.1 || true; echo deaf"))
    kill(try runner, SIGTERM)
    terminal.wait(for: "s  deaf")
    terminal.type(Self.controlC)
    let screen = try end(of: process, in: terminal, status: 143, undone: 0)
    #expect(screen.text.contains("\n⊘ ending because of SIGTERM: "))
    try resume()
  }

  @Test func `the key for SIGQUIT kills all processes, and a resume continues later`()
    throws
  {
    let terminal = try PseudoTerminal()
    let process = try begin(terminal, steps(atTerm: ":"))
    terminal.type(Self.quit)
    let screen = try end(of: process, in: terminal, status: 131, undone: 0)
    #expect(screen.text.contains("\n⊘ ending because of SIGQUIT: steps are killed\n"))
    try resume()
    #expect(count("made") == 1)
  }

  @Test func `ends gracefully when the terminal is closed`() throws {
    let terminal = try PseudoTerminal()
    let process = try begin(terminal, steps(atTerm: "echo asked >> asked; exit 1"))
    try terminal.hangUp()
    process.waitUntilExit()
    #expect(process.terminationStatus == 129)
    #expect(count("asked") == 2)
    #expect(count("undone") == 1)
    try expectNoneLeft()
    #expect(try place.run("runs").output.contains("  cancelled  0 of 3  "))
    try resume()
    #expect(count("made") == 2)
  }

  @Test func `undoes all though the end of the shell follows that of the terminal`() throws {
    // The program gets the signal from both; what undoes something lasts longer than an echo.
    let again = "n=0; while [ $n -lt 20 ]; do kill -HUP $PPID; n=$((n+1)); sleep 0.01 || true; done"
    let undo = "\(again); echo >> undone"
    let terminal = try PseudoTerminal()
    let process = try begin(terminal, steps(atTerm: "sleep 0.1; exit 1", undo: undo))
    try terminal.hangUp()
    process.waitUntilExit()
    #expect(process.terminationStatus == 129)
    #expect(count("undone") == 1)
    try expectNoneLeft()
  }

  // MARK: Ctrl-Z

  /// Returns when all that were sent the signal have come to it.
  private func waitForStop() throws {
    let processes = try processes
    #expect(processes.count == 2)
    try wait(until: "all processes are stopped") {
      processes.allSatisfy { ProcessState.isStopped($0) }
    }
  }

  /// Two steps that go on until something is written to a pipe of their name.
  private func writePipeSteps() throws {
    for name in ["a", "b"] { mkfifo(place.path(name), 0o600) }
    try place.write(
      """
      name: pipes
      steps:
        - {id: one, command: echo $$ $PPID > pids; echo begun; read line < a || true}
        - {id: two, needs: one, command: echo begun; read line < b || true}
      """
    )
  }

  @Test func `Ctrl-Z stops the steps, leaves the terminal to the shell, and fg continues`()
    throws
  {
    try writePipeSteps()
    let terminal = try PseudoTerminal()
    let process = try place.start(
      terminal,
      script: """
        set -m; "$0" run w.yml; echo "the shell has it: $?"; read line
        fg > shell; status=$?; echo "after fg: $status"
        """
    )
    terminal.wait(for: "s  begun")
    terminal.type(Self.controlZ)
    let stopped = terminal.wait(for: "\nthe shell has it: 148")
    try waitForStop()
    for left in ["▸", "┄", "two for one"] { #expect(!stopped.text.contains(left)) }
    #expect(stopped.text.contains("\n⊘ stopped, and so are steps: “fg” resumes all\n"))
    terminal.type("what the shell gets\n")
    terminal.wait(for: "▸ one")
    try place.write("", to: "a")
    terminal.wait(for: "▸ two")
    try place.write("", to: "b")
    let screen = terminal.wait(for: "after fg: 0")
    process.waitUntilExit()
    expectClean(screen)
    let lines = screen.text.split(separator: "\n")
    // What others wrote in between stands where they wrote it.
    let ends = lines.drop { !$0.hasPrefix("⊘ stopped") }.dropFirst()
    #expect(ends.first?.hasSuffix("the shell has it: 148") == true, "\(screen.text)")
    #expect(ends.dropFirst().first == "what the shell gets", "\(screen.text)")
    #expect(ends.dropFirst(2).first?.hasPrefix("✓ one  ") == true, "\(screen.text)")
    #expect(ends.dropFirst(3).first?.hasPrefix("✓ two  ") == true, "\(screen.text)")
  }

  @Test func `writes only lines of what has ended after bg, and is all there again after fg`()
    throws
  {
    try writePipeSteps()
    let terminal = try PseudoTerminal()
    let process = try place.start(
      terminal,
      script: """
        set -m; "$0" run w.yml; echo "the shell has it"; bg > shell; read line
        fg > shell; status=$?; echo "after fg: $status"
        """
    )
    terminal.wait(for: "s  begun")
    terminal.type(Self.controlZ)
    terminal.wait(for: "\nthe shell has it")
    // Opens when the step reads, which goes on.
    try place.write("", to: "a")
    let behind = terminal.wait(for: "✓ one")
    for left in ["▸", "┄"] { #expect(!behind.text.contains(left), "\(behind.text)") }
    terminal.type("\n")
    let again = terminal.wait(for: "▸ two")
    #expect(again.text.contains("50 %  1 of 2  "))
    try place.write("", to: "b")
    let screen = terminal.wait(for: "after fg: 0")
    process.waitUntilExit()
    expectClean(screen)
  }

  @Test func `ends gracefully when the shell ends it that Ctrl-Z has left it to`() throws {
    let terminal = try PseudoTerminal()
    try place.write(steps(atTerm: "echo asked >> asked; exit 1"))
    let process = try place.start(
      terminal,
      script: #"set -m; "$0" "$@"; kill %1; fg > shell; status=$?; echo "after kill: $status""#,
      Self.patient
    )
    terminal.wait(for: "s  begun")
    terminal.type(Self.controlZ)
    // What is stopped gets the signal when it goes on.
    let screen = terminal.wait(for: "after kill: 143")
    #expect(screen.text.contains("after kill: 143"))
    process.waitUntilExit()
    #expect(count("asked") == 2)
    #expect(count("undone") == 1)
    try expectNoneLeft()
  }

  @Test func `asks steps to end that were stopped with a program that was killed then`() throws {
    let terminal = try PseudoTerminal()
    try place.write(steps(atTerm: "echo asked >> asked; exit 1"))
    let process = try place.start(
      terminal,
      script: #"""
        set -m
        sh -c 'echo $$ > runner; exec "$0" "$@"' "$0" "$@"
        echo "it was left"; read line; echo "it is dead"
        """#,
      Self.patient
    )
    terminal.wait(for: "s  begun")
    terminal.type(Self.controlZ)
    terminal.wait(for: "it was left")
    try waitForStop()
    // Not by the shell, which lets it go on for a moment.
    kill(try runner, SIGKILL)
    terminal.type("\n")
    terminal.wait(for: "it is dead")
    process.waitUntilExit()
    try place.write("", to: "go")
    // They have as long as they like, so they are not killed.
    #expect(try place.run("resume", "last", "--grace-period", "1h").status == 0)
    #expect(count("asked") == 2)
    #expect(count("made") == 1)
    try expectNoneLeft()
  }
}
#endif
