/// Where in a shell's program a text has arrived: in quotes, in a substitution, in a here-document.
///
/// It decides how a variable has to be quoted, and nothing else: a program that it misreads gets
/// wrong words or a literal `"`, but no value that a shell reads as a program.
struct ShellContext {
  /// How a variable has to be written.
  enum Quoting { case none, single, double, escaped, escapedInDouble, impossible }

  private enum Level: Equatable {
    /// Commands, which a `)` may end.
    case commands(isClosedByParenthesis: Bool)
    case backtick, single, double, parameter, arithmetic, comment
    case document(end: [Unicode.Scalar], isQuoted: Bool, hasTabs: Bool)
  }

  private var levels: [Level] = [.commands(isClosedByParenthesis: false)]
  /// Here-documents that begin with the next line.
  private var documents: [Level] = []
  private var isEscaped = false
  private var isWordStart = true
  private var isLineStart = false

  /// How a variable has to be written here.
  var quoting: Quoting {
    let quoting = unescapedQuoting
    if !isEscaped { return quoting }
    return quoting == .double ? .escapedInDouble : .escaped
  }

  private var unescapedQuoting: Quoting {
    for level in levels.reversed() {
      switch level {
      case .commands, .backtick: return .none
      case .single: return .single
      case .double, .arithmetic, .comment: return .double
      case .document(_, let isQuoted, _): return isQuoted ? .impossible : .double
      case .parameter: continue
      }
    }
    return .none
  }

  /// Goes on after a place.
  mutating func readPlace() {
    isEscaped = false
    isWordStart = false
    isLineStart = false
  }

  /// Goes on after a text.
  mutating func read(_ text: String) {
    let scalars = Array(text.unicodeScalars)
    var index = 0
    while index < scalars.count { index += read(scalars[index...]) }
  }

  /// Reads what comes next.
  ///
  /// - Returns: How many characters that was.
  private mutating func read(_ rest: ArraySlice<Unicode.Scalar>) -> Int {
    guard let scalar = rest.first, let level = levels.last else { return rest.count }
    if isEscaped {
      isEscaped = false
      isWordStart = false
      return 1
    }
    switch level {
    case .single:
      if scalar == "'" { levels.removeLast() }
      return 1
    case .comment:
      guard scalar == "\n" else { return 1 }
      levels.removeLast()
      return read(rest)
    case .document(let end, _, let hasTabs):
      return readDocument(rest, end: end, hasTabs: hasTabs)
    case .commands, .backtick, .double, .parameter, .arithmetic:
      return readProgram(rest, scalar, level)
    }
  }

  private mutating func readProgram(
    _ rest: ArraySlice<Unicode.Scalar>,
    _ scalar: Unicode.Scalar,
    _ level: Level
  ) -> Int {
    var isCommands = false
    if case .commands = level { isCommands = true }
    if level == .backtick { isCommands = true }
    let wasWordStart = isWordStart
    isWordStart = " \t\n;&|(".unicodeScalars.contains(scalar)
    switch scalar {
    case "\\": isEscaped = true
    case "'" where isCommands || level == .parameter && quoting == .none: levels.append(.single)
    case "\"":
      if level == .double { levels.removeLast() } else { levels.append(.double) }
    case "`":
      if let opening = levels.lastIndex(of: .backtick) {
        levels.removeSubrange(opening...)
      } else {
        levels.append(.backtick)
      }
    case "$" where rest.starts(with: "$((".unicodeScalars):
      levels += [.arithmetic, .arithmetic]
      return 3
    case "$" where rest.starts(with: "$(".unicodeScalars):
      levels.append(.commands(isClosedByParenthesis: true))
      isWordStart = true
      return 2
    case "$" where rest.starts(with: "${".unicodeScalars):
      levels.append(.parameter)
      return 2
    case "}" where level == .parameter: levels.removeLast()
    case "(" where level == .arithmetic: levels.append(.arithmetic)
    case "(" where isCommands: levels.append(.commands(isClosedByParenthesis: true))
    case ")" where level == .arithmetic || level == .commands(isClosedByParenthesis: true):
      levels.removeLast()
    case "#" where isCommands && wasWordStart: levels.append(.comment)
    case "<" where isCommands && rest.starts(with: "<<".unicodeScalars):
      return readRedirection(rest)
    case "\n" where isCommands && !documents.isEmpty:
      levels += documents.reversed()
      documents = []
      isLineStart = true
    default: break
    }
    return 1
  }

  /// Reads `<<END`, `<<-END`, `<<'END'`; `<<<` is no here-document.
  private mutating func readRedirection(_ rest: ArraySlice<Unicode.Scalar>) -> Int {
    if rest.starts(with: "<<<".unicodeScalars) { return 3 }
    var rest = rest.dropFirst(2)
    let start = rest.startIndex - 2
    let hasTabs = rest.first == "-"
    if hasTabs { rest = rest.dropFirst() }
    rest = rest.drop { $0 == " " || $0 == "\t" }
    var end: [Unicode.Scalar] = []
    var isQuoted = false
    var quote: Unicode.Scalar?
    while let scalar = rest.first {
      if let open = quote {
        if scalar == open { quote = nil } else { end.append(scalar) }
      } else if scalar == "'" || scalar == "\"" {
        quote = scalar
        isQuoted = true
      } else if scalar == "\\" {
        isQuoted = true
      } else if " \t\n;&|()<>".unicodeScalars.contains(scalar) {
        break
      } else {
        end.append(scalar)
      }
      rest = rest.dropFirst()
    }
    documents.append(.document(end: end, isQuoted: isQuoted, hasTabs: hasTabs))
    return rest.startIndex - start
  }

  private mutating func readDocument(
    _ rest: ArraySlice<Unicode.Scalar>,
    end: [Unicode.Scalar],
    hasTabs: Bool
  ) -> Int {
    let line = rest.prefix { $0 != "\n" }
    let content = hasTabs ? line.drop { $0 == "\t" } : line
    if isLineStart, content.elementsEqual(end) { levels.removeLast() }
    let hasEnd = line.count < rest.count
    isLineStart = hasEnd
    isWordStart = true
    return line.count + (hasEnd ? 1 : 0)
  }
}
