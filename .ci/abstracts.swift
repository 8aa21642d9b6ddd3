// Checks that each public symbol begins its documentation with one sentence, of at most 150
// characters; `.ci/documentation` runs it.
//
// Arguments: the folder with the symbol graphs, and the modules. Exits with 1 if one hasn't.

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

/// The first paragraph.
func abstract(of comment: Graph.Symbol.Comment) -> String {
  comment.lines.map { $0.text.trimmingCharacters(in: .whitespaces) }
    .prefix { !$0.isEmpty }.joined(separator: " ")
}

/// What is wrong with an abstract; nil if nothing is.
func mistake(in abstract: String) -> String? {
  if abstract.isEmpty { return "has no abstract" }
  if abstract.count > 150 { return "has an abstract of \(abstract.count) characters" }
  if abstract.range(of: "[.!?] +[A-Z`“0-9]", options: .regularExpression) != nil {
    return "has an abstract of more than one sentence"
  }
  return nil
}

let arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.first else { fatalError("usage: abstracts.swift FOLDER MODULE …") }
let modules = Array(arguments.dropFirst())
let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
var known: Set<String> = []
var mistakes: [String] = []
for module in modules {
  for file in files where file.hasPrefix("\(module).") || file.hasPrefix("\(module)@") {
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(file)"))
    for symbol in try JSONDecoder().decode(Graph.self, from: data).symbols {
      // Another module has written it, or the compiler derives the symbol, or it was in a file before.
      if let written = symbol.docComment?.module, !modules.contains(written) { continue }
      let name = symbol.identifier.precise
      if symbol.location == nil || name.contains("::SYNTHESIZED") { continue }
      if !known.insert(name).inserted { continue }
      let text = symbol.docComment.map(abstract) ?? ""
      if let mistake = mistake(in: text) {
        mistakes.append("\(module): \(symbol.pathComponents.joined(separator: ".")) \(mistake)")
      }
    }
  }
}
for line in mistakes { print(line) }
if !mistakes.isEmpty || known.isEmpty { exit(1) }
print("abstracts: \(known.count) public symbols, each with one sentence")
