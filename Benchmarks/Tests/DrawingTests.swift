import BenchmarkKit
import Foundation
import Testing

@Suite struct `A logarithmic scale` {
  @Test func `draws equal factors equally long`() throws {
    let scale = try #require(LogarithmicScale(covering: [1, 10_000], from: 0, to: 100))
    #expect(abs(scale.position(1) - 0) < 1e-9)
    #expect(abs(scale.position(100) - 50) < 1e-9)
    #expect(abs(scale.position(10_000) - 100) < 1e-9)
  }

  @Test func `may run upwards, as heights on a screen do`() throws {
    let scale = try #require(LogarithmicScale(covering: [1, 100], from: 300, to: 20))
    #expect(abs(scale.position(1) - 300) < 1e-9)
    #expect(abs(scale.position(100) - 20) < 1e-9)
  }

  @Test func `has ticks at powers of ten, its ends included`() throws {
    let scale = try #require(LogarithmicScale(covering: [1e-9, 3e-7, 1e-5], from: 0, to: 1))
    let exponents = scale.ticks.map { log10($0).rounded() }
    #expect(exponents == [-9, -8, -7, -6, -5])
  }

  @Test func `has finer ticks when there would be fewer than two`() throws {
    let scale = try #require(LogarithmicScale(covering: [150, 900], from: 0, to: 1))
    #expect(scale.ticks.map { $0.rounded() } == [200, 500])
  }

  @Test func `gives a single value room`() throws {
    let scale = try #require(LogarithmicScale(covering: [5], from: 0, to: 10))
    #expect(abs(scale.position(5) - 5) < 1e-9)
  }

  @Test func `needs positive values`() {
    #expect(LogarithmicScale(covering: [], from: 0, to: 1) == nil)
    #expect(LogarithmicScale(covering: [0, -1, .infinity, .nan], from: 0, to: 1) == nil)
    #expect(LogarithmicScale(covering: [0, 7], from: 0, to: 1)?.lowest == 3.5)
  }
}

@Suite struct `A chart` {
  private let chart = CostChart(
    title: "a < b & \"c\"",
    subtitle: "",
    panels: [
      .init(
        title: "one",
        lines: [
          .init(contestant: "ours", points: [(256, 1e-7), (1_024, 2e-7)]),
          .init(contestant: "theirs", points: [(256, 1e-5)]),
        ]
      ),
      .init(title: "empty", lines: []),
    ]
  )

  @Test func `is well-formed`() throws {
    let parser = XMLCheck()
    #expect(parser.isWellFormed(chart.svg()))
    #expect(!chart.svg().contains("a < b &"))
  }

  @Test func `has each contestant once in its legend and a mark for each point`() {
    let svg = chart.svg()
    #expect(svg.components(separatedBy: ">theirs<").count == 2)
    // Two points and the legend are circles; one and the legend are squares.
    #expect(svg.components(separatedBy: "<circle").count == 4)
    #expect(svg.components(separatedBy: "<polygon").count == 3)
    #expect(svg.contains(">not measured<"))
  }

  @Test(arguments: [
    (1.0, "1"), (256, "256"), (1_000, "1k"), (1_024, "1k"), (65_536, "65.5k"), (1_000_000, "1M"),
    (1_048_576, "1M"),
  ])
  func `writes sizes short`(size: Double, expected: String) {
    #expect(CostChart.Panel.sizeLabel(size) == expected)
  }
}

/// Follows tags; attributes hold neither `<` nor `>` in what is checked.
private struct XMLCheck {
  func isWellFormed(_ text: String) -> Bool {
    var open: [String] = []
    for piece in text.split(separator: "<").dropFirst() {
      guard let end = piece.firstIndex(of: ">") else { return false }
      let tag = piece[..<end]
      if tag.hasPrefix("?") || tag.hasSuffix("/") { continue }
      if tag.hasPrefix("/") {
        guard open.popLast() == String(tag.dropFirst()) else { return false }
      } else {
        open.append(String(tag.prefix { $0 != " " }))
      }
    }
    return open.isEmpty
  }
}
