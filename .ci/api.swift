// Prints the public interface of modules as text; `.ci/api` runs it.
//
// Arguments: the folder with the symbol graphs, and the modules, each after those that it imports.
// A type is followed by its members: cases, initialisers, properties, methods, each in the order of
// the alphabet. What the compiler derives isn't listed, nor what comes from a superclass or from an
// extension of a protocol, nor what every type with the conformance has: `==`, or the methods of an
// `OperationObserver`.

import Foundation

struct Graph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { let precise: String }
    struct Kind: Decodable { let identifier: String }
    struct Fragment: Decodable { let spelling: String }
    struct Extension: Decodable { let constraints: [Constraint]? }
    struct Availability: Decodable {
      let isUnconditionallyUnavailable: Bool?
      let isUnconditionallyDeprecated: Bool?
    }

    let identifier: Identifier
    let kind: Kind
    let pathComponents: [String]
    let declarationFragments: [Fragment]?
    let accessLevel: String
    let availability: [Availability]?
    let swiftExtension: Extension?
  }

  struct Relationship: Decodable {
    let kind: String
    let source: String
    let target: String
    let targetFallback: String?
    let swiftConstraints: [Constraint]?
  }

  struct Constraint: Decodable {
    let kind: String
    let lhs: String
    let rhs: String

    /// As declarations write it.
    var text: String { "\(lhs) \(kind == "sameType" ? "==" : ":") \(rhs)" }
  }

  let symbols: [Symbol]
  let relationships: [Relationship]
}

extension Graph.Symbol {
  private static let typeKinds: Set = ["class", "struct", "enum", "protocol", "actor"]
  /// Members that follow from a conformance to Hashable, Comparable or RawRepresentable.
  private static let implied: Set = ["==(_:_:)", "hash(into:)", "<(_:_:)", "init(rawValue:)"]
  private static let order = ["case", "init", "property", "subscript", "method", "func"]

  private var kindName: String { String(kind.identifier.dropFirst("swift.".count)) }

  var isType: Bool { Self.typeKinds.contains(kindName) }
  var isProtocol: Bool { kindName == "protocol" }
  var path: String { pathComponents.joined(separator: ".") }
  var owner: String { pathComponents.dropLast().joined(separator: ".") }
  var isListed: Bool {
    // The members of an extension are symbols of their own.
    ["public", "open"].contains(accessLevel) && kindName != "extension"
      && !identifier.precise.contains("::SYNTHESIZED::")
      && !Self.implied.contains(pathComponents.last ?? "")
  }

  /// In which order members stand.
  var rank: String {
    let parts = kindName.split(separator: ".").map(String.init)
    let place = Self.order.firstIndex { parts.contains($0) } ?? Self.order.count
    return "\(place)\(parts.contains("type") ? 0 : 1) \(pathComponents.last ?? "") \(declaration)"
  }

  /// The declaration in one line, `open` if it is.
  var declaration: String {
    let fragments = (declarationFragments ?? []).map(\.spelling).joined()
    let text = fragments.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      .replacing("`Self`", with: "Self")
    return accessLevel == "open" ? "open " + text : text
  }

  /// What limits its use.
  var limits: [String] {
    (availability ?? []).flatMap { limit in
      (limit.isUnconditionallyDeprecated == true ? ["deprecated"] : [])
        + (limit.isUnconditionallyUnavailable == true ? ["unavailable"] : [])
    }
  }
}

struct Interfaces {
  private static let unlisted: Set = ["Copyable", "Escapable", "SendableMetatype"]

  private let modules: [String]
  private var symbols: [(module: String, symbol: Graph.Symbol)] = []
  private var types: [String: Graph.Symbol] = [:]
  private var supertypes: [String: Set<String>] = [:]
  private var superclasses: [String: String] = [:]
  private var requirementsWithDefault: Set<String> = []
  private var defaults: Set<String> = []
  /// Which protocols a type conforms to, and which requirements a protocol has, by identifier.
  private var conformances: [String: Set<String>] = [:]
  private var requirements: [String: Set<String>] = [:]

  init(of modules: [String], in folder: URL) throws {
    self.modules = modules
    var relationships: [Graph.Relationship] = []
    var seen: Set<String> = []
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    for module in modules {
      let graphs = try files.sorted().filter {
        $0 == "\(module).symbols.json" || ($0.hasPrefix("\(module)@") && $0.hasSuffix(".json"))
      }.map {
        try JSONDecoder().decode(Graph.self, from: Data(contentsOf: folder.appending(path: $0)))
      }
      if graphs.isEmpty { throw Mistake(description: "no graph of \(module) in \(folder.path)") }
      // A module that exports another one lists what is in that again.
      for symbol in graphs.flatMap(\.symbols)
      where symbol.isListed && seen.insert(symbol.identifier.precise).inserted {
        symbols.append((module, symbol))
        if symbol.isType { types[symbol.identifier.precise] = symbol }
      }
      relationships += graphs.flatMap(\.relationships)
    }
    for relationship in relationships { add(relationship) }
  }

  private mutating func add(_ relationship: Graph.Relationship) {
    switch relationship.kind {
    case "inheritsFrom": superclasses[relationship.source] = relationship.target
    case "requirementOf", "optionalRequirementOf":
      requirements[relationship.target, default: []].insert(relationship.source)
    case "conformsTo":
      conformances[relationship.source, default: []].insert(relationship.target)
      let written = relationship.targetFallback ?? ""
      let name =
        types[relationship.target]?.path ?? String(written.split(separator: ".").last ?? "")
      let constraints = (relationship.swiftConstraints ?? []).map(\.text).sorted()
      let clause = constraints.isEmpty ? "" : " where " + constraints.joined(separator: ", ")
      if Self.unlisted.contains(name) { return }
      supertypes[relationship.source, default: []].insert(name + clause)
    case "defaultImplementationOf":
      requirementsWithDefault.insert(relationship.target)
      defaults.insert(relationship.source)
    default: break
    }
  }

  /// A type with what it inherits from and conforms to, apart from what its superclass does.
  private func head(of symbol: Graph.Symbol) -> String {
    let name = symbol.pathComponents.last ?? ""
    var declaration = symbol.declaration.replacing(name, with: symbol.path, maxReplacements: 1)
    if symbol.isProtocol { return declaration.replacing(" : ", with: ": ") }
    let precise = symbol.identifier.precise
    var list = supertypes[precise] ?? []
    var first: [String] = []
    if let superclass = superclasses[precise] {
      list.subtract(supertypes[superclass] ?? [])
      first = [types[superclass]?.path ?? "?"]
    }
    let all = first + list.sorted()
    if all.isEmpty { return declaration }
    let clause = declaration.range(of: " where ")?.lowerBound ?? declaration.endIndex
    declaration.insert(contentsOf: ": " + all.joined(separator: ", "), at: clause)
    return declaration
  }

  private func line(of symbol: Graph.Symbol, head: String) -> String {
    var remarks = symbol.limits
    if requirementsWithDefault.contains(symbol.identifier.precise) {
      remarks.append("has a default")
    }
    let declaration = symbol.declaration
    let constraints = (symbol.swiftExtension?.constraints ?? []).map(\.text).filter {
      !declaration.contains($0) && !head.contains($0)
    }
    if !constraints.isEmpty {
      remarks.append("where " + constraints.sorted().joined(separator: ", "))
    }
    return remarks.isEmpty ? declaration : "\(declaration)  // \(remarks.joined(separator: "; "))"
  }

  /// The members that a type has because of its conformances, for each type by its path.
  private func impliedMembers() -> [String: Set<String>] {
    let names = Dictionary(
      symbols.map { ($0.symbol.identifier.precise, $0.symbol.pathComponents.last ?? "") },
      uniquingKeysWith: { first, _ in first }
    )
    var members: [String: Set<String>] = [:]
    for (identifier, type) in types {
      let required = (conformances[identifier] ?? []).flatMap { requirements[$0] ?? [] }
      members[type.path] = Set(required.compactMap { names[$0] })
    }
    return members
  }

  /// A type per paragraph; one of another module is an extension.
  func text(of module: String) -> String {
    let implied = impliedMembers()
    var heads: [String: String] = [:]
    var members: [String: [Graph.Symbol]] = [:]
    for case (module, let symbol) in symbols {
      if symbol.isType {
        heads[symbol.path] = head(of: symbol)
      } else if !defaults.contains(symbol.identifier.precise),
        implied[symbol.owner]?.contains(symbol.pathComponents.last ?? "") != true
      {
        members[symbol.owner, default: []].append(symbol)
      }
    }
    var paragraphs: [String] = []
    for owner in Set(heads.keys).union(members.keys).sorted() {
      let head = heads[owner] ?? "extension \(owner)"
      let indent = owner.isEmpty ? "" : "  "
      let lines = (members[owner] ?? []).sorted { $0.rank < $1.rank }.map {
        indent + line(of: $0, head: head)
      }
      paragraphs.append(((owner.isEmpty ? [] : [head]) + lines).joined(separator: "\n"))
    }
    return paragraphs.joined(separator: "\n\n")
  }
}

struct Mistake: Error, CustomStringConvertible {
  let description: String
}

let arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.first, arguments.count > 1 else {
  throw Mistake(description: "usage: api.swift FOLDER MODULE…")
}
let modules = Array(arguments.dropFirst())
let interfaces = try Interfaces(of: modules, in: URL(fileURLWithPath: folder))
let sections = modules.map { "module \($0)\n\n\(interfaces.text(of: $0))\n" }
print(sections.joined(separator: "\n"), terminator: "")
