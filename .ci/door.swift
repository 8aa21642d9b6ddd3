// Checks what the layers use of the core, by the index of the last build; `.ci/door` runs it.
//
// Arguments: the index, the symbol graph of what is public in the core, the root of the package, and
// the folders of the core with utilities. Prints each use of something else, and exits with 1 if
// there is one.

import Foundation
import IndexStore

extension indexstore_string_ref_t {
  var text: String {
    String(decoding: UnsafeRawBufferPointer(start: data, count: length), as: UTF8.self)
  }
}

typealias Element = UnsafeMutableRawPointer

/// What the index's functions pass their elements to, one at a time, as the context of a C function.
final class Receiver {
  private let receive: (Element) -> Void
  init(_ receive: @escaping (Element) -> Void) { self.receive = receive }

  static let take: @convention(c) (UnsafeMutableRawPointer?, Element?) -> Bool = {
    guard let context = $0, let element = $1 else { return false }
    Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue().receive(element)
    return true
  }

  /// Calls such a function with a receiver as its context.
  static func each(
    _ call: (UnsafeMutableRawPointer) -> Bool,
    _ receive: @escaping (Element) -> Void
  ) {
    let receiver = Receiver(receive)
    withExtendedLifetime(receiver) { _ = call(Unmanaged.passUnretained(receiver).toOpaque()) }
  }
}

struct Occurrence {
  let symbol: String
  let name: String
  let isAccessor: Bool
  let isDefinition: Bool
  let isReference: Bool
  let line: UInt32

  init?(_ occurrence: Element) {
    guard let symbol = indexstore_occurrence_get_symbol(occurrence) else { return nil }
    self.symbol = indexstore_symbol_get_usr(symbol).text
    name = indexstore_symbol_get_name(symbol).text
    // They come with the property that they belong to.
    let subkind = indexstore_symbol_get_subkind(symbol).rawValue
    isAccessor = [3, 4].contains(subkind) || 1000...1003 ~= subkind || 1014...1018 ~= subkind
    let roles = indexstore_occurrence_get_roles(occurrence)
    isDefinition = roles >> 1 & 1 == 1
    isReference = roles >> 2 & 1 == 1
    var line: UInt32 = 0
    indexstore_occurrence_get_line_col(occurrence, &line, nil)
    self.line = line
  }
}

struct Graph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { let precise: String }
    let identifier: Identifier
  }

  let symbols: [Symbol]
}

func resolve(_ path: String) -> String {
  URL(fileURLWithPath: path).resolvingSymlinksInPath().path
}

/// The source files of the last build that are there still, each with what stands in it.
func occurrences(of store: indexstore_t, in root: String) -> [String: [Occurrence]] {
  var units: [String] = []
  var files: [String: [Occurrence]] = [:]
  withUnsafeMutablePointer(to: &units) { units in
    _ = indexstore_store_units_apply_f(store, 1, units) { units, name in
      units?.assumingMemoryBound(to: [String].self).pointee.append(name.text)
      return true
    }
  }
  for unit in units {
    guard let reader = indexstore_unit_reader_create(store, unit, nil) else { continue }
    defer { indexstore_unit_reader_dispose(reader) }
    let path = indexstore_unit_reader_get_main_file(reader).text
    let resolved = resolve(path)
    guard resolved.hasPrefix("\(root)/Sources/"), FileManager.default.fileExists(atPath: path)
    else { continue }
    let file = String(resolved.dropFirst(root.count + 1))
    files[file] = files[file] ?? []
    Receiver.each {
      indexstore_unit_reader_dependencies_apply_f(reader, $0, Receiver.take)
    } _: { dependency in
      guard indexstore_unit_dependency_get_kind(dependency) == INDEXSTORE_UNIT_DEPENDENCY_RECORD,
        indexstore_unit_dependency_get_filepath(dependency).text == path
      else { return }
      let name = indexstore_unit_dependency_get_name(dependency).text
      guard let record = indexstore_record_reader_create(store, name, nil) else { return }
      defer { indexstore_record_reader_dispose(record) }
      Receiver.each {
        indexstore_record_reader_occurrences_apply_f(record, $0, Receiver.take)
      } _: {
        if let occurrence = Occurrence($0) { files[file, default: []].append(occurrence) }
      }
    }
  }
  return files
}

let arguments = CommandLine.arguments
guard arguments.count >= 4 else { fatalError("usage: door.swift INDEX GRAPH ROOT FOLDER…") }
let root = resolve(arguments[3])
guard let store = indexstore_store_create(arguments[1], nil) else {
  fatalError("there is no index in \(arguments[1])")
}
let core = "Sources/CoreOperations/"
let open = (["Layer"] + arguments.dropFirst(4)).map { "\(core)\($0)/" }
let layers = ["Sources/AdvancedOperations/", "Sources/AdvancedOperationsTesting/"]
let files = occurrences(of: store, in: root)

let sources = FileManager.default.enumerator(atPath: "\(root)/Sources")?
  .compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") && !$0.contains(".docc/") }.map {
    "Sources/\($0)"
  }
let missing = (sources ?? []).filter { files[$0] == nil }
if files.isEmpty || !missing.isEmpty {
  print("The index in \(arguments[1]) lacks \(missing.sorted().joined(separator: ", ")).")
  print("Remove it, and what was built with it.")
  exit(1)
}

let graph = try JSONDecoder().decode(
  Graph.self,
  from: Data(contentsOf: URL(fileURLWithPath: arguments[2]))
)
let published = Set(graph.symbols.map(\.identifier.precise))

/// Where what isn't public is declared.
var places: [String: String] = [:]
for (file, occurrences) in files where file.hasPrefix(core) {
  for occurrence in occurrences
  where occurrence.isDefinition && !published.contains(occurrence.symbol) {
    places[occurrence.symbol] = file
  }
}

var read = 0
var uses = 0
var mistakes: Set<String> = []
for (file, occurrences) in files where layers.contains(where: file.hasPrefix) {
  read += 1
  for occurrence in occurrences
  where !occurrence.isAccessor && occurrence.isReference {
    guard let place = places[occurrence.symbol] else { continue }
    if open.contains(where: place.hasPrefix) {
      uses += 1
    } else {
      mistakes.insert("\(file):\(occurrence.line): \(occurrence.name), of \(place)")
    }
  }
}
for mistake in mistakes.sorted() { print(mistake) }
if !mistakes.isEmpty {
  print(
    """

    \(mistakes.count) uses of the core pass by its door. Give what is needed an entry in a file of \
    \(core)Layer,
    named for what it does for the layer, call that, and make what is behind it internal.
    """
  )
  exit(1)
}
print(
  "one door: \(read) files of the layers use the core \(uses) times, by way of Layer or a utility"
)
