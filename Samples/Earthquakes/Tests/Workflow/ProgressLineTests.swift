import EarthquakeWorkflow
import Testing

@Suite struct `The progress line` {
  private func line(_ fraction: Double, _ executing: [String], width: Int) -> String {
    ProgressLine(fraction: fraction, executing: executing, width: width).description
  }

  @Test func `has a bar, the percentage and the step`() {
    let (full, rest) = (String(repeating: "━", count: 15), String(repeating: "┄", count: 15))
    #expect(line(0.5, ["store"], width: 80) == "\(full)\(rest)  50 % store")
    #expect(line(0, ["locate"], width: 80) == "\(rest)\(rest)   0 % locate")
    #expect(line(1, ["report"], width: 80) == "\(full)\(full) 100 % report")
  }

  @Test func `names all steps that execute, and says when none does`() {
    #expect(line(0.25, ["a", "b"], width: 80).hasSuffix("  25 % a, b"))
    #expect(line(0.25, [], width: 80).hasSuffix("  25 % waiting"))
  }

  @Test func `never promises more than is done`() {
    #expect(line(0.999, ["store"], width: 80).contains(" 99 % "))
    #expect(line(2, ["store"], width: 80).contains("100 % "))
    #expect(line(-1, ["store"], width: 80).contains("  0 % "))
  }

  @Test func `gives up the bar where there is little room`() {
    #expect(line(0.5, ["store"], width: 18) == "━━┄┄┄  50 % store")
    #expect(line(0.5, ["store"], width: 16) == " 50 % store")
    #expect(line(0.5, ["store"], width: 8) == " 50 % …")
  }

  @Test(arguments: 0...100)
  func `leaves the last column free`(width: Int) {
    for steps in [[], ["store"], ["report", "map", "a step of a very long name"]] {
      #expect(line(0.37, steps, width: width).count <= max(width - 1, 0))
    }
  }
}
