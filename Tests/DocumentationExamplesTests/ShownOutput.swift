import Foundation
import Testing

/// Checks that what an example printed is what its article shows, as one block of its own.
///
/// - Parameters:
///   - lines: What the example printed.
///   - article: The name of the article's file in the catalogue of AdvancedOperations.
///   - sourceLocation: Where a difference is reported.
/// - Throws: An error of Foundation when the article can't be read.
func expectShown(
  _ lines: Lines,
  in article: String,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let folder = URL(fileURLWithPath: #filePath)
    .appendingPathComponent("../../../Sources/AdvancedOperations/AdvancedOperations.docc")
    .standardized
  let file = folder.appendingPathComponent(article + ".md")
  let text = try String(contentsOf: file, encoding: .utf8)
  let printed = lines.all.joined(separator: "\n")
  let isShown = text.contains("\n```\n\(printed)\n```\n")
  #expect(isShown, "not in \(article).md:\n\(printed)", sourceLocation: sourceLocation)
}
