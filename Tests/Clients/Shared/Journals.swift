import AdvancedOperations
import Testing

// Each client target compiles this file, with its own settings.
#if IMPORTS_FOUNDATION
import Foundation
#endif

private actor Notes: OperationJournal {
  private var values: [String: any Sendable] = [:]

  func value<Value: Codable & Sendable>(of type: Value.Type, for key: String) -> Value? {
    values[key] as? Value
  }

  func record<Value: Codable & Sendable>(_ value: Value, for key: String) { values[key] = value }
}

private struct Passing: OperationJournal {
  let notes: Notes

  func value<Value: Codable & Sendable>(
    of type: Value.Type,
    for key: String
  ) async throws -> Value? { await notes.value(of: type, for: key) }

  func record<Value: Codable & Sendable>(_ value: Value, for key: String) async throws {
    await notes.record(value, for: key)
  }
}

private nonisolated struct Product: Codable, Sendable, Equatable {
  var name: String
}

@Suite struct `Journals in this app` {
  @Test func `a journal of an app keeps values, and the success of operations without one`()
    async throws
  {
    let notes = Notes()
    for isSecond in [false, true] {
      let queue = AdvancedOperationQueue(name: "client")
      let build = ResultOperation { Product(name: "app") }.recorded(as: "build", in: notes)
      let pack = build.then { $0.name + ".tar" }.recorded(as: "pack", in: Passing(notes: notes))
      let done = pack.then { _ in }.recorded(as: "done", in: notes)
      // A closure of two statements names no type, and is unambiguous nonetheless.
      let size = pack.then { name in
        let count = name.count
        return count * 2
      }.recorded(as: "size", in: notes)
      let noted = size.then { size in
        let text = "\(size)"
        await notes.record(text, for: "text")
      }.recorded(as: "noted", in: notes)
      try await queue.run(done)
      try await queue.run(noted)
      #expect(size.isFromJournal == isSecond)
      #expect(noted.isFromJournal == isSecond)
      let count = try await size.value
      #expect(count == 14)
      #expect(build.isFromJournal == isSecond)
      #expect(pack.isFromJournal == isSecond)
      #expect(done.isFromJournal == isSecond)
      let product = try await build.value
      #expect(product == Product(name: "app"))
    }
  }
}
