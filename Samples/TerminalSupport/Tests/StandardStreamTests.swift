import TerminalSupport
import Testing

@Suite struct `The width of the output` {
  @Test(
    arguments: [
      (120, ["COLUMNS": "60"], 120), (nil, ["COLUMNS": "60"], 60), (0, ["COLUMNS": "60"], 60),
      (nil, [:], 80), (nil, ["COLUMNS": "wide"], 80), (nil, ["COLUMNS": "-5"], 80),
    ] as [(Int?, [String: String], Int)]
  )
  func `is that of the terminal, else what COLUMNS says, else 80`(
    terminal: Int?,
    environment: [String: String],
    width: Int
  ) {
    #expect(StandardStream.width(terminal: terminal, environment) == width)
  }
}

@Suite struct `The colour of the output` {
  @Test(
    arguments: [
      (true, [:], true), (true, ["NO_COLOR": ""], true), (true, ["NO_COLOR": "1"], false),
      (true, ["TERM": "dumb"], false), (false, [:], false),
    ] as [(Bool, [String: String], Bool)]
  )
  func `is for terminals whose user wants it`(
    isTerminal: Bool,
    environment: [String: String],
    hasColour: Bool
  ) {
    #expect(StandardStream.hasColour(isTerminal: isTerminal, environment) == hasColour)
  }
}
