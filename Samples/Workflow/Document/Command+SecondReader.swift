extension Command {
  /// The shell that the command starts, or its `eval`, which reads a place's value as a program.
  ///
  /// It is found in `sh -c "ls ${{ env.DIR }}"`, in `eval`, `trap` and `let`, and in
  /// `[sh, -c, "ls ${{ env.DIR }}"]`, with the names that shells usually have; and in `$(( … ))`, in which
  /// bash runs the commands of a value such as `a[$(ls)]`. What a command gives to a shell in another way, as
  /// `ssh` does, is not found.
  ///
  /// - Returns: Its name without a folder; nil if none was found.
  /// - Complexity: The length of the text, times the number of its places.
  public var secondReader: String? {
    switch self {
    case .shell(let template): Self.reader(in: template)
    case .arguments(let arguments): Self.reader(among: arguments)
    }
  }

  private static func reader(in template: Template) -> String? {
    var before = ""
    for part in template.parts {
      if case .text(let text) = part {
        before += text
        continue
      }
      if let name = reader(before: before) { return name }
      before += "_"
    }
    return nil
  }

  private static func reader(before text: String) -> String? {
    let shell = #/(?:^|[\s;&|(\/])(sh|bash|dash|ksh|zsh|su)\s+(?:(?:-\S+|pipefail)\s+)*-[a-z]*c\s+/#
    let open = #/(?:"(?:[^"\\]|\\.)*|'[^']*)?/#.dotMatchesNewlines()
    for match in text.matches(of: shell) {
      let program = text[match.range.upperBound...]
      if program.wholeMatch(of: open) != nil { return String(match.1) }
    }
    if text.firstMatch(of: #/\$\(\([^)]*$/#) != nil { return "$((…))" }
    let reader = text.firstMatch(of: #/(?:^|[\s;&|(])(eval|trap|let)\s[^;&|\n]*$/#)
    return reader.map { String($0.1) }
  }

  private static func reader(among arguments: [Template]) -> String? {
    guard case .text(let path)? = arguments.first?.parts.first, arguments[0].parts.count == 1,
      let name = path.split(separator: "/").last.map(String.init),
      ["sh", "bash", "dash", "ksh", "zsh"].contains(name)
    else { return nil }
    let options = arguments.dropFirst().prefix { argument in
      guard case .text(let text)? = argument.parts.first else { return false }
      return text.hasPrefix("-")
    }
    guard case .text(let last)? = options.last?.parts.first, last.hasSuffix("c"),
      arguments.indices.contains(options.endIndex)
    else { return nil }
    let hasPlace = arguments[options.endIndex].parts.contains { part in
      if case .text = part { return false }
      return true
    }
    return hasPlace ? name : nil
  }
}
