import TerminalSupport

/// The mistakes of a file while it is read.
final class Findings {
  /// The text of the file.
  let text: String
  /// Its lines, split when the first caret has to be placed inside of a text.
  private(set) lazy var source = SourceText(text)
  private var mistakes: [Diagnostic] = []
  private var keys: Set<Key> = []
  /// How many names may still be compared for suggestions.
  private var comparisons = 500_000

  /// Where YAML has mistakes.
  private var broken: Set<Place> = []

  private struct Key: Hashable {
    var place: Place?
    var message: String
  }

  init(text: String) { self.text = text }

  /// Whether there is none so far.
  var isEmpty: Bool { mistakes.isEmpty }

  /// All mistakes, in the order of the file.
  var sorted: [Diagnostic] {
    // Sorting is stable.
    mistakes.sorted { ($0.line ?? 0, $0.column ?? 0) < ($1.line ?? 0, $1.column ?? 0) }
  }

  /// Notes a mistake, once: what an alias repeats is one mistake.
  func add(_ message: String, at place: Place?, help: String? = nil) {
    if let place, broken.contains(place) { return }
    guard keys.insert(Key(place: place, message: message)).inserted else { return }
    mistakes.append(
      Diagnostic(line: place?.line, column: place?.column, message: message, suggestion: help)
    )
  }

  /// Notes what is wrong with a value.
  func add(_ problem: ValueProblem, at place: Place) {
    add(problem.message, at: place, help: problem.help)
  }

  /// Notes a mistake of YAML; what is missing there because of it is no other mistake.
  func add(_ diagnostic: Diagnostic) {
    let place = diagnostic.line.map { Place(line: $0, column: diagnostic.column ?? 1) }
    defer { if let place { broken.insert(place) } }
    add(diagnostic.message, at: place, help: diagnostic.suggestion)
  }

  /// “did you mean ‘build’?”, if a name is close.
  func help(for name: String, among names: some Collection<String>) -> String? {
    guard comparisons > 0 else { return nil }
    comparisons -= names.count
    return NearestName.help(for: name, among: names)
  }
}

/// A text of the file with its place.
struct Named: Hashable {
  var text: String
  var place: Place
}
