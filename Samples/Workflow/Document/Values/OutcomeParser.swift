import TerminalSupport

/// Reads an expression of outcomes: `failed(test) || !succeeded(build) && skipped(lint)`.
///
/// `!` binds closest, then `&&`, then `||`.
struct OutcomeParser {
  /// What is wrong, and where in the expression.
  struct Problem: Error {
    /// In Unicode scalars, from 0.
    var offset: Int
    /// What.
    var problem: ValueProblem
  }

  /// A step that the expression names.
  struct Mention {
    /// What it is called.
    var name: String
    /// Where the name begins in the expression.
    var offset: Int
  }

  /// An expression in which steps are named as in the file.
  private(set) var mentions: [Mention] = []

  private let scalars: [Unicode.Scalar]
  private var index = 0
  private var depth = 0
  private static let depthLimit = 50
  private static let mentionLimit = 200

  /// Begins to read a text.
  init(_ text: String) { scalars = Array(text.unicodeScalars) }

  /// Reads all of it.
  mutating func expression() throws(Problem) -> OutcomeExpression {
    let expression = try alternatives()
    skipSpace()
    guard index == scalars.count else {
      if scalars[index] == ")" { throw fail("‘)’ closes nothing") }
      throw fail(
        "‘&&’ or ‘||’ is expected here, not ‘\(word)’",
        help: operatorHelp
      )
    }
    return expression
  }

  private mutating func alternatives() throws(Problem) -> OutcomeExpression {
    var result = try conjunction()
    while take("||") { result = .or(result, try conjunction()) }
    return result
  }

  private mutating func conjunction() throws(Problem) -> OutcomeExpression {
    var result = try term()
    while take("&&") { result = .and(result, try term()) }
    return result
  }

  private mutating func term() throws(Problem) -> OutcomeExpression {
    depth += 1
    defer { depth -= 1 }
    skipSpace()
    guard depth <= Self.depthLimit else { throw fail("the expression is nested too deep") }
    if take("!") { return .not(try term()) }
    let opening = index
    if take("(") {
      let inner = try alternatives()
      guard take(")") else { throw fail("the ‘(’ is never closed", at: opening) }
      return inner
    }
    return try step()
  }

  private mutating func step() throws(Problem) -> OutcomeExpression {
    let names = OutcomeExpression.Outcome.allCases.map(\.rawValue)
    let start = index
    guard index < scalars.count else {
      throw fail("an outcome is expected at the end", help: "like ‘failed(test)’")
    }
    let name = takeWord()
    guard let outcome = OutcomeExpression.Outcome(rawValue: name) else {
      let other = ["success": "succeeded", "failure": "failed", "canceled": "cancelled"][name]
      throw fail(
        name.isEmpty
          ? "an outcome is expected here, not ‘\(word)’" : "‘\(name.excerpt())’ isn’t an outcome",
        at: start,
        help: (other.map { "did you mean ‘\($0)’?" } ?? NearestName.help(for: name, among: names))
          ?? "outcomes are \(names.map { "\($0)(STEP)" }.joined(separator: ", "))"
      )
    }
    guard take("(") else {
      throw fail("‘\(name)’ is followed by a step", help: "like ‘\(name)(test)’")
    }
    skipSpace()
    let place = index
    let step = takeWord()
    guard !step.isEmpty else { throw fail("the name of a step is expected here") }
    guard take(")") else { throw fail("‘)’ is expected after the name of the step") }
    mentions.append(Mention(name: step, offset: place))
    guard mentions.count <= Self.mentionLimit else {
      throw fail("the expression names more than \(Self.mentionLimit) steps", at: place)
    }
    return .step(step, is: outcome)
  }

  private mutating func skipSpace() {
    while index < scalars.count, scalars[index].properties.isWhitespace { index += 1 }
  }

  private mutating func take(_ text: String) -> Bool {
    skipSpace()
    let wanted = Array(text.unicodeScalars)
    guard scalars[index...].starts(with: wanted) else { return false }
    index += wanted.count
    return true
  }

  /// Letters, digits, and what else names of steps have.
  private mutating func takeWord() -> String {
    var view = String.UnicodeScalarView()
    while index < scalars.count, !scalars[index].properties.isWhitespace,
      !"()!&|,".unicodeScalars.contains(scalars[index])
    {
      view.append(scalars[index])
      index += 1
    }
    return String(view)
  }

  /// What stands where something else is expected.
  private var word: String {
    var copy = self
    let text = copy.takeWord()
    if !text.isEmpty { return text.excerpt() }
    return index < scalars.count ? String(scalars[index]).printable() : ""
  }

  private var operatorHelp: String? {
    switch word {
    case "and", "&": "did you mean ‘&&’?"
    case "or", "|": "did you mean ‘||’?"
    default: nil
    }
  }

  private func fail(_ message: String, at offset: Int? = nil, help: String? = nil) -> Problem {
    Problem(offset: offset ?? index, problem: ValueProblem(message, help: help))
  }
}
