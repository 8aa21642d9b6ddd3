import TerminalSupport

/// Reads the places of a template: `swift-${{ matrix.swift }}`.
///
/// `${{ 'text' }}` is that text, so `${{ '${{' }}` is how a file writes `${{` itself.
struct TemplateParser {
  /// Something that is wrong with a place.
  struct Problem {
    /// Which `${{` of the text it is, from 0.
    var place: Int
    /// How many characters after the beginning of `${{`.
    var offset: Int
    /// What is wrong.
    var problem: ValueProblem
  }

  /// What was read.
  private(set) var parts: [Template.Part] = []
  /// Which `${{` of the text each part is that isn't text.
  private(set) var numbers: [Int] = []
  /// What is wrong.
  private(set) var problems: [Problem] = []

  /// Reads a text.
  ///
  /// - Complexity: Linear.
  init(_ text: String) {
    guard text.utf8.contains(0x7B), text.contains("${{") else {
      append(text: text)
      return
    }
    var rest = text[...]
    var number = 0
    while let opening = rest.firstRange(of: "${{") {
      append(text: String(rest[..<opening.lowerBound]))
      let inside = rest[opening.upperBound...]
      guard let end = Self.end(of: inside) else {
        problems.append(
          Problem(
            place: number,
            offset: 0,
            problem: ValueProblem("‘${{’ is never closed", help: "close it with ‘}}’")
          )
        )
        return
      }
      read(inside[..<end], number: number)
      rest = inside[end...].dropFirst(2)
      number += 1 + inside[..<end].ranges(of: "${{").count
    }
    append(text: String(rest))
  }

  /// What was read, as a template.
  var template: Template { Template(parts) }

  /// Where `}}` closes a place; quotes may contain it.
  private static func end(of text: Substring) -> Substring.Index? {
    var index = text.startIndex
    var isQuoted = false
    while index < text.endIndex {
      switch text[index] {
      case "'": isQuoted.toggle()
      case "\n", "\r\n": return nil
      case "}" where !isQuoted && text[index...].hasPrefix("}}"): return index
      default: break
      }
      index = text.index(after: index)
    }
    return nil
  }

  private mutating func append(text: String) {
    guard !text.isEmpty else { return }
    if case .text(let before)? = parts.last {
      parts[parts.count - 1] = .text(before + text)
    } else {
      parts.append(.text(text))
    }
  }

  private mutating func read(_ inside: Substring, number: Int) {
    let expression = inside.trimmed
    let offset = 3 + inside.prefix { $0 == " " || $0 == "\t" }.unicodeScalars.count
    func fail(_ message: String, help: String? = nil) {
      problems.append(
        Problem(place: number, offset: offset, problem: ValueProblem(message, help: help))
      )
    }
    if expression.first == "'", expression.last == "'", expression.count > 1,
      !expression.dropFirst().dropLast().contains("'")
    {
      append(text: String(expression.dropFirst().dropLast()))
      return
    }
    let words = expression.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let quoted = "‘\(expression.excerpt())’"
    switch words[0] {
    case "": fail("the place is empty", help: "like ‘${{ matrix.os }}’")
    case "matrix":
      guard words.count == 2, Self.isName(words[1]) else {
        return fail("\(quoted) isn’t a value of the matrix", help: "like ‘matrix.os’")
      }
      parts.append(.matrix(words[1]))
      numbers.append(number)
    case "env":
      guard words.count == 2, ShellQuoting.isName(words[1]) else {
        return fail("\(quoted) isn’t a variable", help: "like ‘env.HOME’")
      }
      parts.append(.environment(words[1]))
      numbers.append(number)
    case "steps":
      let step = words.dropFirst().dropLast().joined(separator: ".")
      guard words.count >= 3, !step.isEmpty, let name = words.last, Self.isName(name) else {
        return fail("\(quoted) isn’t an output of a step", help: "like ‘steps.build.version’")
      }
      parts.append(.output(step: step, name: name))
      numbers.append(number)
    case "parameters":
      guard words.count == 2, Self.isName(words[1]) else {
        return fail("\(quoted) isn’t a parameter", help: "like ‘parameters.version’")
      }
      parts.append(.parameter(words[1]))
      numbers.append(number)
    case "run":
      guard words == ["run", "id"] else {
        return fail("\(quoted) isn’t a value of a run", help: "did you mean ‘run.id’?")
      }
      parts.append(.run)
      numbers.append(number)
    default:
      fail(
        "\(quoted) isn’t a value",
        help: NearestName.help(
          for: words[0],
          among: ["matrix", "env", "steps", "parameters", "run"]
        )
          ?? "values are matrix.NAME, env.NAME, steps.ID.NAME, parameters.NAME and run.id"
      )
    }
  }

  /// Whether a text can name an axis or an output: letters, digits, `-` and `_`.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, first.isLetterOrDigit || first == 0x5F else { return false }
    return text.utf8.allSatisfy { $0.isLetterOrDigit || $0 == 0x2D || $0 == 0x5F }
  }
}
