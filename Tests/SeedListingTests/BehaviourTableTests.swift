import Foundation
import Testing

/// The article “Foundation compatibility” of CoreOperations names a test for each promise.
@Suite struct `The table of documented behaviour` {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  @Test func `the table names an existing test in every row`() throws {
    let article = Self.root.appendingPathComponent(
      "Sources/CoreOperations/CoreOperations.docc/Behaviour.md"
    )
    let existing = try Self.testNames(
      in: ["CoreOperationsTests", "SeedListingTests"].map {
        Self.root.appendingPathComponent("Tests/\($0)")
      }
    )
    let rows = try String(contentsOf: article, encoding: .utf8)
      .split(separator: "\n")
      .filter { $0.hasPrefix("|") && !$0.hasPrefix("|---") && !$0.hasSuffix("| shown by |") }
    #expect(rows.count > 100)
    for row in rows {
      let proofs = row.split(separator: "|").last ?? ""
      let names = proofs.matches(of: #/`([^`]+ / [^`]+)`/#).map { String($0.1) }
      #expect(!names.isEmpty, "\(row)")
      for name in names where !existing.contains(name) {
        Issue.record("The table names a test that doesn't exist: \(name)")
      }
    }
  }

  /// Every test as `suite / test`.
  private static func testNames(in folders: [URL]) throws -> Set<String> {
    var names: Set<String> = []
    for folder in folders {
      let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
      for case let file as URL in try #require(files) where file.pathExtension == "swift" {
        var suite = ""
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
          if let match = line.firstMatch(of: #/@Suite.*(?:struct|enum) `([^`]+)`/#) {
            suite = String(match.1)
          }
          if let match = line.firstMatch(of: #/func `([^`]+)`/#) {
            names.insert("\(suite) / \(match.1)")
          }
        }
      }
    }
    return names
  }
}
