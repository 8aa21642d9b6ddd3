import TerminalSupport
import Yams

/// What the parser of YAML complains about, in words that help.
enum YAMLProblem {
  /// A mistake of syntax.
  static func diagnostic(for error: YamlError, in text: String) -> Diagnostic {
    switch error {
    case .scanner(let context, let problem, let mark, _),
      .parser(let context, let problem, let mark, _),
      .composer(let context, let problem, let mark, _):
      let place = Place(line: mark.line, column: mark.column)
      return diagnostic(problem, context: context, at: place, in: SourceText(text))
    case .reader(let problem, let offset, _, _):
      return unreadable(problem, offset: offset, in: text)
    case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded,
      .duplicatedKeysInMapping:
      return Diagnostic(line: nil, column: nil, message: "\(error)".printable())
    }
  }

  private static func diagnostic(
    _ problem: String,
    context: YamlError.Context?,
    at place: Place,
    in source: SourceText
  ) -> Diagnostic {
    if let tab = tab(near: place, in: source) {
      return Diagnostic(
        line: tab.line,
        column: tab.column,
        message: "a tab indents this line",
        suggestion: "YAML takes only spaces: put two where the tab is"
      )
    }
    let line = source.line(place.line) ?? []
    let character = line.indices.contains(place.column - 1) ? line[place.column - 1] : nil
    let about = words[problem]
    var message = about?.message ?? problem.printable()
    var place = place
    if problem == "found character that cannot start any token", let character {
      message = "a text can’t begin with ‘\(String(character).printable())’ in YAML"
    }
    if problem == "found unexpected end of stream"
      || problem == "found unexpected document indicator",
      let context, context.text.contains("quoted scalar")
    {
      message = "the quotes that begin here are never closed"
      place = Place(line: context.mark.line, column: context.mark.column)
    }
    var help = about?.help
    if isPlaceInFlow(near: place, in: source) {
      help = "inside { } and [ ], a text with ‘${{ … }}’ has to be in quotes"
    }
    let text = String(String.UnicodeScalarView(line))
    if text.contains(": !") || text.contains("- !") {
      help = "a text that begins with ‘!’ has to be in quotes"
    }
    return Diagnostic(line: place.line, column: place.column, message: message, suggestion: help)
  }

  /// What a problem of the parser means, and what to do.
  private static let words: [String: (message: String, help: String?)] = [
    "mapping values are not allowed in this context": (
      "a second ‘: ’ follows in a text that has no quotes, or the line is indented too far",
      "put the text in quotes, or align the key with those above it"
    ),
    "could not find expected ':'": (
      "a key without its ‘:’", "write ‘key: value’, and indent the lines of a longer text"
    ),
    "did not find expected key": (
      "a key is expected here", "align it with the keys above it"
    ),
    "did not find expected '-' indicator": (
      "another ‘- ’ is expected here", "align it with those above it"
    ),
    "did not find expected ',' or ']'": ("a list in [ ] continues with ‘,’ or ends with ‘]’", nil),
    "did not find expected ',' or '}'": (
      "keys with values in { } continue with ‘,’ or end with ‘}’", nil
    ),
    "found character that cannot start any token": ("", "put the text in quotes"),
    "found unexpected end of stream": ("the file ends too early", nil),
    "did not find expected node content": ("a value is expected here", nil),
    "did not find expected <document start>": (
      "the text continues here, but what is above it has ended",
      "align it with what is above it"
    ),
    "block sequence entries are not allowed in this context": (
      "a list can’t begin here", "begin it on a line of its own"
    ),
    "block collection entries are not allowed in this context": (
      "a list can’t begin here", "begin it on a line of its own"
    ),
    "but found another document": (
      "a second document begins here", "a file has one workflow: remove the ‘---’"
    ),
    "found unknown escape character": (
      "this isn’t an escape of a text in double quotes",
      "write the backslash twice, or use single quotes"
    ),
    "Maximum nesting level reached, set with yaml_set_max_nest_level())": (
      "values are nested too deep", nil
    ),
    "did not find expected whitespace or line break": (
      "a name of a tag or anchor continues with a character that it can’t have", nil
    ),
    "did not find expected comment or line break": (
      "the line ends after ‘|’ and ‘>’", "put a text that begins with them in quotes"
    ),
    "mapping keys are not allowed in this context": (
      "a key can’t begin here", "put the text in quotes"
    ),
    "did not find expected alphabetic or numeric character": (
      "an anchor, alias or tag has a name without letters", "put the text in quotes"
    ),
  ]

  /// The first tab in the indentation of the line, or of those around it.
  private static func tab(near place: Place, in source: SourceText) -> Place? {
    for number in [place.line - 1, place.line, place.line + 1] {
      guard let line = source.line(number) else { continue }
      let indentation = line.prefix { $0 == " " || $0 == "\t" }
      guard indentation.count < line.count else { continue }
      if let index = indentation.firstIndex(of: "\t") {
        return Place(line: number, column: index + 1)
      }
    }
    return nil
  }

  private static func isPlaceInFlow(near place: Place, in source: SourceText) -> Bool {
    guard let line = source.line(place.line) else { return false }
    let before = String(String.UnicodeScalarView(line.prefix(place.column)))
    guard let range = before.firstRange(of: "${") else { return false }
    return before[..<range.lowerBound].contains { $0 == "{" || $0 == "[" }
      && !before[..<range.lowerBound].hasSuffix("\"") && !before[..<range.lowerBound].hasSuffix("'")
  }

  private static func unreadable(_ problem: String, offset: Int?, in text: String) -> Diagnostic {
    guard let offset, offset < text.utf8.count else {
      return Diagnostic(line: nil, column: nil, message: problem.printable())
    }
    let index = text.utf8.index(text.utf8.startIndex, offsetBy: offset)
    let lines = SourceText(String(text[..<index])).lines
    let code = text[index...].unicodeScalars.first.map { String($0.value, radix: 16) } ?? "?"
    return Diagnostic(
      line: lines.count,
      column: (lines.last?.count ?? 0) + 1,
      message: "a control character, U+\(String(repeating: "0", count: max(0, 4 - code.count)))"
        + "\(code.uppercased()), is here",
      suggestion: "remove it, or write it as an escape in double quotes: \"\\x\(code)\""
    )
  }
}
