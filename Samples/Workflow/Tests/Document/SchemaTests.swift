import Foundation
import Testing
import WorkflowDocument

/// The schema that editors use says what the reader knows.
@Suite struct `The schema` {
  private let root: [String: Any]

  init() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../workflow.schema.json")
    let json = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
    root = try #require(json as? [String: Any])
  }

  /// What stands at a path of keys and indices.
  private func value(_ path: String) throws -> [String: Any] {
    var value: Any = root
    for word in path.split(separator: "/") {
      if let index = Int(word) {
        value = try #require((value as? [Any])?[index], "\(path)")
      } else {
        value = try #require((value as? [String: Any])?[String(word)], "\(path)")
      }
    }
    return try #require(value as? [String: Any], "\(path)")
  }

  private func keys(_ path: String) throws -> Set<String> {
    let object = try value(path)
    #expect(object["additionalProperties"] as? Bool == false, "\(path)")
    return Set(try value(path + "/properties").keys)
  }

  private func names<Key: RawRepresentable<String> & CaseIterable>(_ keys: Key.Type) -> Set<String>
  {
    Set(keys.allCases.map(\.rawValue))
  }

  @Test func `has the keys that the reader knows, and no others`() throws {
    #expect(try keys("") == names(FileKeys.Workflow.self))
    #expect(try keys("properties/defaults") == names(FileKeys.Defaults.self))
    #expect(try keys("definitions/step") == names(FileKeys.Step.self))
    #expect(try keys("definitions/condition") == names(FileKeys.Condition.self))
    let condition = "definitions/condition/properties"
    #expect(try keys(condition + "/newer") == names(FileKeys.Newer.self))
    #expect(try keys(condition + "/free-disk/anyOf/1") == names(FileKeys.FreeDisk.self))
    #expect(try keys("definitions/retry/anyOf/2") == names(FileKeys.Retry.self))
  }

  @Test func `has no other place with keys of its own`() {
    func count(_ value: Any) -> Int {
      if let list = value as? [Any] { return list.map(count).reduce(0, +) }
      guard let object = value as? [String: Any] else { return 0 }
      let own = object["additionalProperties"] as? Bool == false ? 1 : 0
      return object.values.map(count).reduce(own, +)
    }
    #expect(count(root) == 7)
  }

  @Test func `names the values that the reader knows`() throws {
    let backoff = try value("definitions/retry/anyOf/2/properties/backoff")["enum"] as? [String]
    #expect(backoff == RetryRule.Backoff.allCases.map(\.rawValue))
  }

  /// Each place with keys of its own, and the heading of `Keys.md` whose table has them.
  private static let tables = [
    ("", "At the top"), ("definitions/step", "Of a step"),
    ("definitions/condition", "Of `when` and `require`"),
    ("definitions/retry/anyOf/2", "Of `retry`"),
  ]

  @Test func `has no key that the page of all keys doesn't explain, and the page no other`() throws
  {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Keys.md")
    let page = try String(contentsOf: file.standardizedFileURL, encoding: .utf8)
    for (path, heading) in Self.tables {
      let parts = page.components(separatedBy: "\n## \(heading)\n")
      let table = try #require(parts.dropFirst().first).components(separatedBy: "\n## ")[0]
      let rows = table.split(separator: "\n").filter { $0.hasPrefix("| `") }
      let names = rows.map { String($0.dropFirst(3).prefix { $0 != "`" }) }
      #expect(try Set(names) == keys(path), "\(heading)")
      #expect(names.count == Set(names).count, "\(heading)")
      // Those of a key's own keys are in its row.
      for key in try Self.inner[path, default: []].flatMap(keys) {
        #expect(table.contains("`\(key)`"), "\(heading): \(key)")
      }
    }
  }

  /// The places whose keys are explained in a row of another place.
  private static let inner = [
    "": ["properties/defaults"],
    "definitions/condition": [
      "definitions/condition/properties/newer",
      "definitions/condition/properties/free-disk/anyOf/1",
    ],
  ]

  @Test func `describes every key`() throws {
    func check(_ path: String) throws {
      for key in try value(path).keys.sorted() {
        var description = try value("\(path)/\(key)")
        if let reference = description["$ref"] as? String, description["description"] == nil {
          description = try value(String(reference.dropFirst(2)))
        }
        let text = description["description"] as? String ?? ""
        #expect(text.hasSuffix(".") || text.hasSuffix("`none`."), "\(path)/\(key)")
        // A reference that leads nowhere.
        if let reference = try value("\(path)/\(key)")["$ref"] as? String {
          _ = try value(String(reference.dropFirst(2)))
        }
      }
    }
    try check("properties")
    try check("properties/defaults/properties")
    try check("definitions/step/properties")
    try check("definitions/condition/properties")
    try check("definitions/condition/properties/newer/properties")
    try check("definitions/condition/properties/free-disk/anyOf/1/properties")
    try check("definitions/retry/anyOf/2/properties")
  }
}
