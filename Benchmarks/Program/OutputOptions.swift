import ArgumentParser
import BenchmarkKit
import Foundation

/// What the command line says about what becomes of the measurements.
struct OutputOptions: ParsableArguments {
  enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

  @Option(help: "How to write the report.")
  var format = Format.text

  @Option(
    help: ArgumentHelp("Draw costs over sizes into this file.", valueName: "path"),
    completion: .file(extensions: ["svg"])
  )
  var svg: String?

  @Option(
    help: ArgumentHelp(
      "Compare the ratios with stored thresholds; exit status 2 if one is exceeded.",
      valueName: "path"
    ),
    completion: .file(extensions: ["json"])
  )
  var check: String?

  @Option(
    help: ArgumentHelp("Store the ratios of this run as thresholds.", valueName: "path"),
    completion: .file(extensions: ["json"])
  )
  var writeThresholds: String?

  @Option(
    help: ArgumentHelp(
      """
      How far noise may lift a ratio above its threshold, as a part of it (default: what the file \
      says; 0.25 for a new one).
      """,
      valueName: "part"
    )
  )
  var margin: Double?

  @Flag(name: .shortAndLong, help: "Don't tell what is being measured.")
  var quiet = false

  func validate() throws {
    if let margin, margin < 0 { throw ValidationError("--margin can't be negative.") }
  }

  /// Sees what would fail after minutes of measuring: gives the thresholds to compare with, and
  /// creates the files that will be written.
  ///
  /// - Returns: nil if nothing is to be compared.
  func prepare() throws -> Thresholds? {
    for path in [svg, writeThresholds].compactMap({ $0 })
    where !FileManager.default.isWritableFile(atPath: path)
      && !FileManager.default.createFile(atPath: path, contents: nil)
    {
      throw ValidationError("\(path) can't be written.")
    }
    guard let check else { return nil }
    guard let data = FileManager.default.contents(atPath: check) else {
      throw ValidationError("\(check) can't be read.")
    }
    guard var thresholds = try? JSONDecoder().decode(Thresholds.self, from: data) else {
      throw ValidationError("\(check) has no thresholds; --write-thresholds makes such a file.")
    }
    if let margin { thresholds.margin = margin }
    return thresholds
  }

  func write(_ report: Report, comparedWith thresholds: Thresholds?) throws {
    switch format {
    case .text: print(ReportText.make(report, style: .ofOutput), terminator: "")
    case .json: print(try report.json())
    }
    if let svg { try Data(report.chart.svg().utf8).write(to: URL(fileURLWithPath: svg)) }
    if let writeThresholds { try store(report, path: writeThresholds) }
    if let thresholds { try compare(report, with: thresholds) }
  }

  private func store(_ report: Report, path: String) throws {
    let ratios = report.ratios.mapValues { ($0.median * 1_000).rounded(.up) / 1_000 }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let data = try encoder.encode(Thresholds(margin: margin ?? 0.25, ratios: ratios))
    try (data + Data("\n".utf8)).write(to: URL(fileURLWithPath: path))
  }

  /// Findings go to standard error, so that a report in JSON stays one.
  private func compare(_ report: Report, with thresholds: Thresholds) throws {
    let findings = thresholds.check(report.ratios)
    var table = TextTable([.left, .left])
    for finding in findings {
      guard let measured = finding.measured else { continue }
      let verdict: String? =
        switch finding.verdict {
        case .holds, .notMeasured: nil
        case .withinMargin: "noise?"
        case .exceeded: "EXCEEDED"
        }
      guard let verdict else { continue }
      table.add([
        verdict, finding.name, Quantity.ratio(measured.median),
        "instead of \(Quantity.ratio(finding.threshold))",
      ])
    }
    let exceeded = findings.count { $0.verdict == .exceeded }
    let measured = findings.count { $0.verdict != .notMeasured }
    let summary =
      "\(measured) of \(findings.count) thresholds compared, \(exceeded) exceeded by more than "
      + "\(Int((thresholds.margin * 100).rounded())) %"
    let text = (table.lines() + [summary, ""]).joined(separator: "\n")
    FileHandle.standardError.write(Data(text.utf8))
    // A guard that has seen nothing has not found that all is well.
    if measured == 0 { throw ExitCode.failure }
    if exceeded > 0 { throw ExitCode(2) }
  }
}
