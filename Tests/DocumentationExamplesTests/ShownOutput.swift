import Foundation
import Testing

/// Checks that what an example printed is what its article shows, as one block of its own.
///
/// - Parameters:
///   - lines: What the example printed.
///   - article: The name of the article's file.
///   - module: The module whose catalogue has the article.
///   - sourceLocation: Where a difference is reported.
/// - Throws: An error of Foundation when the article can't be read.
func expectShown(
  _ lines: Lines,
  in article: String,
  of module: String = "AdvancedOperations",
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let folder = catalogue(of: module)
  let file = folder.appendingPathComponent(article + ".md")
  let text = try String(contentsOf: file, encoding: .utf8)
  let printed = lines.all.joined(separator: "\n")
  let isShown = text.contains("\n```\n\(printed)\n```\n")
  #expect(isShown, "not in \(article).md:\n\(printed)", sourceLocation: sourceLocation)
}

/// Checks that an article of AdvancedOperationsTesting has a text, such as a row with what was
/// measured.
///
/// - Parameters:
///   - row: The text.
///   - article: The name of the article's file.
///   - sourceLocation: Where a difference is reported.
/// - Throws: An error of Foundation when the article can't be read.
func expectRow(
  _ row: String,
  in article: String,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let file = catalogue(of: "AdvancedOperationsTesting").appendingPathComponent(article + ".md")
  let isShown = try String(contentsOf: file, encoding: .utf8).contains(row)
  #expect(isShown, "not in \(article).md: \(row)", sourceLocation: sourceLocation)
}

/// Checks that a picture of an article is the one that its example draws, in both variants.
///
/// The variant for dark pages is there because a page of documentation may be dark where the system
/// isn't: a picture that is a file of its own is told of the system only.
///
/// With `OPERATIONS_WRITE_PICTURES` in the environment, writes the picture in place of looking.
///
/// - Parameters:
///   - drawn: What the example drew.
///   - name: The name of the picture's file in the catalogue.
///   - module: The module whose catalogue has the picture.
///   - sourceLocation: Where a difference is reported.
/// - Throws: An error of Foundation when the picture can't be read or written.
func expectPicture(
  _ drawn: String,
  _ name: String,
  of module: String = "AdvancedOperations",
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  for (name, drawn) in [(name, drawn), ("\(name)~dark", try dark(drawn))] {
    if ProcessInfo.processInfo.environment["OPERATIONS_WRITE_PICTURES"] != nil {
      try drawn.write(to: file(ofPicture: name, module), atomically: true, encoding: .utf8)
      continue
    }
    let isShown = try picture(name, of: module) == drawn
    #expect(
      isShown,
      "\(name).svg is another one; OPERATIONS_WRITE_PICTURES=1 writes it",
      sourceLocation: sourceLocation
    )
  }
}

/// The picture with the colours for dark pages, whatever its reader prefers.
private func dark(_ picture: String) throws -> String {
  let rule = /@media \(prefers-color-scheme: dark\) \{\n(?<rules>(?:\..*\n)*)\}\n/
  let match = try #require(picture.firstMatch(of: rule))
  return picture.replacingCharacters(in: match.range, with: match.output.rules)
}

/// A picture in the catalogue of a module.
func picture(_ name: String, of module: String = "AdvancedOperations") throws -> String {
  try String(contentsOf: file(ofPicture: name, module), encoding: .utf8)
}

private func file(ofPicture name: String, _ module: String) -> URL {
  catalogue(of: module).appendingPathComponent("Resources/\(name).svg")
}

private func catalogue(of module: String) -> URL {
  URL(fileURLWithPath: #filePath)
    .appendingPathComponent("../../../Sources/\(module)/\(module).docc")
    .standardized
}
