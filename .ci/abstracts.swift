// Checks the abstracts of the documentation; `.ci/documentation` runs it.
//
// Each public symbol, and each page of a documentation catalog, begins with one sentence of at most
// 150 characters. This sentence, and that of each other documentation comment in Sources, begins with
// its subject or its verb, not with "What", "Where" or another word of `vague`.
//
// Arguments: the folder with the symbol graphs, and the modules. Exits with 1 if there is a mistake.

import Foundation

struct Graph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { let precise: String }
    struct Comment: Decodable {
      struct Line: Decodable { let text: String }
      let module: String?
      let lines: [Line]
    }

    struct Location: Decodable { let uri: String }

    let identifier: Identifier
    let pathComponents: [String]
    let docComment: Comment?
    let location: Location?
  }

  let symbols: [Symbol]
}

/// The words that an abstract doesn't begin with, because they name neither a subject nor an action.
let vague: Set<Substring> = ["What", "Where", "How", "Who", "That", "It", "One", "Those"]

/// The first paragraph.
func paragraph(of lines: some Sequence<String>) -> String {
  lines.map { $0.trimmingCharacters(in: .whitespaces) }
    .prefix { !$0.isEmpty }.joined(separator: " ")
}

/// The vague word that an abstract begins with; nil if it begins with another word.
func vagueBeginning(of abstract: String) -> Substring? {
  let word = abstract.prefix { $0.isLetter }
  return vague.contains(word) ? word : nil
}

/// A description of the mistake in an abstract; nil if there is none.
func mistake(in abstract: String) -> String? {
  if abstract.isEmpty { return "has no abstract" }
  if abstract.count > 150 { return "has an abstract of \(abstract.count) characters" }
  if abstract.range(of: "[.!?] +[A-Z`“0-9]", options: .regularExpression) != nil {
    return "has an abstract of more than one sentence"
  }
  return vagueBeginning(of: abstract).map { "has an abstract that begins with “\($0)”" }
}

/// The paths of the files in a folder and its subfolders that have an extension.
func files(in folder: String, withExtension suffix: String) -> [String] {
  let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
  return paths.filter { $0.hasSuffix(".\(suffix)") }.sorted().map { "\(folder)/\($0)" }
}

func lines(of path: String) throws -> [String] {
  try String(contentsOfFile: path, encoding: .utf8)
    .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
}

/// The abstract of a page: the first paragraph below the title, after directives such as `@Metadata`.
func abstract(ofPage lines: [String]) -> String {
  let body = lines.drop { !$0.hasPrefix("# ") }.dropFirst()
    .drop { $0.isEmpty || $0.hasPrefix("@") || $0.hasPrefix(" ") || $0.hasPrefix("}") }
  return body.first?.hasPrefix("#") == true ? "" : paragraph(of: body)
}

/// The number of the first line, and the first paragraph, of each documentation comment.
func comments(in lines: [String]) -> [(line: Int, abstract: String)] {
  let texts = lines.map { line in
    let line = line.drop { $0 == " " }
    return line.hasPrefix("///") ? String(line.dropFirst(3)) : nil
  }
  return texts.indices
    .filter { texts[$0] != nil && ($0 == 0 || texts[$0 - 1] == nil) }
    .map { ($0 + 1, paragraph(of: texts[$0...].prefix { $0 != nil }.compactMap(\.self))) }
}

let arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.first else { fatalError("usage: abstracts.swift FOLDER MODULE …") }
let modules = Array(arguments.dropFirst())
let graphs = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
var known: Set<String> = []
var pages = 0
var mistakes: [String] = []
for module in modules {
  for file in graphs where file.hasPrefix("\(module).") || file.hasPrefix("\(module)@") {
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(file)"))
    for symbol in try JSONDecoder().decode(Graph.self, from: data).symbols {
      // Another module has written it, or the compiler derives the symbol, or it was in a file before.
      if let written = symbol.docComment?.module, !modules.contains(written) { continue }
      let name = symbol.identifier.precise
      if symbol.location == nil || name.contains("::SYNTHESIZED") { continue }
      if !known.insert(name).inserted { continue }
      let text = symbol.docComment.map { paragraph(of: $0.lines.map(\.text)) } ?? ""
      if let mistake = mistake(in: text) {
        mistakes.append("\(module): \(symbol.pathComponents.joined(separator: ".")) \(mistake)")
      }
    }
  }
  for page in files(in: "Sources/\(module)/\(module).docc", withExtension: "md") {
    pages += 1
    if let mistake = mistake(in: abstract(ofPage: try lines(of: page))) {
      mistakes.append("\(page) \(mistake)")
    }
  }
  // The symbol graphs have no comment of a symbol that isn't public.
  for file in files(in: "Sources/\(module)", withExtension: "swift") where !file.contains(".docc/")
  {
    for comment in comments(in: try lines(of: file)) {
      if let word = vagueBeginning(of: comment.abstract) {
        mistakes.append("\(file):\(comment.line) has an abstract that begins with “\(word)”")
      }
    }
  }
}
for line in mistakes { print(line) }
if !mistakes.isEmpty || known.isEmpty || pages == 0 { exit(1) }
print("abstracts: \(known.count) public symbols and \(pages) pages, each with one sentence")
