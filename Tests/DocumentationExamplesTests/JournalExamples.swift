import AdvancedOperations
import AdvancedOperationsTesting
import Foundation
import Synchronization
import Testing

@Sendable private func compile(_ name: String) async throws -> String { "\(name).o" }
@Sendable private func archive(_ file: String) async throws -> String { "\(file).tar" }
@Sendable private func layers(of base: String, and app: String) async throws -> String {
  "\(base)+\(app)"
}

actor FileJournal: OperationJournal {
  struct KeyExists: Error { let key: String }

  private struct Line<Value: Codable>: Codable {
    let key: String
    let value: Value
  }
  private struct Key: Codable { let key: String }

  private let file: FileHandle
  private var lines: [String: Data] = [:]
  private var length: UInt64

  init(path: String) throws {
    if !FileManager.default.fileExists(atPath: path) {
      try Data().write(to: URL(filePath: path))
    }
    file = try FileHandle(forUpdating: URL(filePath: path))
    let data = try file.readToEnd() ?? Data()
    // A crash may have cut short the line after the last line break.
    let end = data.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    length = UInt64(end)
    for line in data[..<end].split(separator: UInt8(ascii: "\n")) {
      lines[try JSONDecoder().decode(Key.self, from: line).key] = line
    }
  }

  func value<Value: Codable & Sendable>(of type: Value.Type, for key: String) throws -> Value? {
    guard let line = lines[key] else { return nil }
    return try JSONDecoder().decode(Line<Value>.self, from: line).value
  }

  func record<Value: Codable & Sendable>(_ value: Value, for key: String) throws {
    if lines[key] != nil { throw KeyExists(key: key) }
    let line = try JSONEncoder().encode(Line(key: key, value: value))
    // Removes a line that a crash or a full disk has cut short, and moves to the end.
    try file.truncate(atOffset: length)
    try file.write(contentsOf: line + [UInt8(ascii: "\n")])
    try file.synchronize()
    length += UInt64(line.count) + 1
    lines[key] = line
  }
}

/// A file of its own for each test, and nothing of it afterwards.
private func withFile(_ body: (String) async throws -> Void) async throws {
  let folder = FileManager.default.temporaryDirectory
  let path = folder.appending(path: "journal-\(UUID().uuidString)").path
  do { try await body(path) } catch {
    try? FileManager.default.removeItem(atPath: path)
    throw error
  }
  try FileManager.default.removeItem(atPath: path)
}

@Test func `OperationJournal: a file of lines, and a restart`() async throws {
  try await withFile { path in
    for isRestarted in [false, true] {
      let journal = try FileJournal(path: path)
      let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)
      let pack = build.then { binary in try await archive(binary) }
        .recorded(as: "pack", in: journal)
      #expect(try await AdvancedOperationQueue().run(pack) == "app.o.tar")
      #expect(build.isFromJournal == isRestarted)
      #expect(pack.isFromJournal == isRestarted)
    }
  }
}

@Test func `OperationJournal: the file is cut at every byte`() async throws {
  try await withFile { path in
    func pack(_ journal: FileJournal, _ bodies: RecordedKeys) -> ResultOperation<[Int]> {
      let build = ResultOperation {
        bodies.add("build")
        return "app\n“.o”"
      }.recorded(as: "build", in: journal)
      return build.then { binary in
        bodies.add("pack")
        return [binary.count]
      }.recorded(as: "pack", in: journal)
    }
    let first = try FileJournal(path: path)
    #expect(try await AdvancedOperationQueue().run(pack(first, RecordedKeys())) == [8])
    let whole = try Data(contentsOf: URL(filePath: path))
    let ends = whole.indices.filter { whole[$0] == UInt8(ascii: "\n") }
    #expect(ends.count == 2)
    for length in 0...whole.count {
      try whole.prefix(length).write(to: URL(filePath: path))
      let bodies = RecordedKeys()
      let value = try await AdvancedOperationQueue().run(pack(FileJournal(path: path), bodies))
      #expect(value == [8])
      let recorded = ends.count { $0 < length }
      #expect(bodies.keys == Array(["build", "pack"].dropFirst(recorded)))
      let again = try FileJournal(path: path)
      #expect(try await again.value(of: String.self, for: "build") == "app\n“.o”")
      #expect(try await again.value(of: [Int].self, for: "pack") == [8])
    }
  }
}

@Test func `OperationJournal: a key is recorded once, in a whole line`() async throws {
  try await withFile { path in
    let journal = try FileJournal(path: path)
    try await journal.record("app.o", for: "build")
    // As if the disk had been full in the middle of a line.
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data("{\"key\":".utf8))
    await #expect(throws: FileJournal.KeyExists.self) {
      try await journal.record("app.o", for: "build")
    }
    try await journal.record("app.tar", for: "pack")
    let again = try FileJournal(path: path)
    #expect(try await again.value(of: String.self, for: "build") == "app.o")
    #expect(try await again.value(of: String.self, for: "pack") == "app.tar")
  }
}

private final class RecordedKeys: Sendable {
  private let lines = Lines()
  var keys: [String] { lines.all }
  func add(_ key: String) { lines(key) }
}

@Test func `ResultOperation: a recorded value is computed from two values`() async throws {
  let journal = InMemoryJournal()
  let app = ResultOperation { try await compile("app") }.recorded(as: "app", in: journal)
  let base = ResultOperation { "base" }.recorded(as: "base", in: journal)

  let image = ResultOperation(after: app, base) { app, base in
    try await layers(of: base, and: app)
  }.recorded(as: "image", in: journal)

  #expect(try await AdvancedOperationQueue().run(image) == "base+app.o")
  #expect(journal.keys.last == "image")
}

@Test func `ResultOperation: a build that is recorded`() async throws {
  let journal = InMemoryJournal()

  let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)

  #expect(try await AdvancedOperationQueue().run(build) == "app.o")
}

@Test func `ResultOperation: a step without a value that is recorded`() async throws {
  let journal = InMemoryJournal()
  @Sendable func upload(_ name: String) async throws {}

  let publish = ResultOperation { try await upload("app") }.recorded(as: "publish", in: journal)

  try await AdvancedOperationQueue().run(publish)
  #expect(journal.records.map { $0.value as? Bool } == [true])
}

@Test func `isFromJournal: an observer distinguishes values from the journal`() async throws {
  let print = Lines()
  let journal = InMemoryJournal([.init(key: "build", value: "app.o")])
  let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)

  build.onFinish { operation, _ in
    if operation.isFromJournal { print("\(operation.name ?? ""): done before") }
  }

  _ = try await AdvancedOperationQueue().run(build)
  #expect(print.all == ["build: done before"])
}

private struct FullDisk: Error {}

@Test func `OperationJournalError: the work was done and isn't recorded`() {
  let print = Lines()
  let journal = InMemoryJournal()
  journal.failRecord(1, with: FullDisk())
  let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)
  simulate(build)
  guard let failure = build.outcome?.failure else { return }

  if let error = failure.first(OperationJournalError.self), error.action == .record {
    print("\(error.key) was done, and isn't recorded")
  }

  #expect(print.all == ["build was done, and isn't recorded"])
}

private final class Hall: Sendable {
  let log = Lines()
  func reserve(_ count: Int, for id: String) async throws -> Int { count }
  func release(_ id: String) async throws { log("released \(id)") }
}

@Test func `OperationJournal: a rollback removes the record`() {
  let hall = Hall()
  let journal = InMemoryJournal()
  let id = "order 17"
  let reserve = ResultOperation {
    try await hall.reserve(2, for: id)
  }.recorded(as: "reserve", in: journal)

  reserve.onRollback {
    try await hall.release(id)
    journal.remove("reserve")
  }

  let pay = reserve.then(name: "pay") { _ in throw Offline() }
  let order = GroupOperation(name: "order", errorPolicy: .failFast) {
    reserve
    pay
  }
  simulate(order)
  #expect(hall.log.all == ["released order 17"])
  #expect(journal.keys == [])
}

@Test func `InMemoryJournal: a restart finds the recorded values`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  let journal = InMemoryJournal()
  let build = ResultOperation { "app" }.recorded(as: "build", in: journal)
  queue.addOperation(build)
  simulation.run()
  #expect(journal.keys == ["build"])

  let beforeThat = journal.truncated(after: 0)

  #expect(beforeThat.keys == [])
}

@Test func `exploreRestarts: the process crashes at every step`() throws {
  try exploreRestarts { simulation, journal in
    let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)
    let pack = build.then { try await archive($0) }.recorded(as: "pack", in: journal)
    AdvancedOperationQueue(environment: simulation.environment).addOperations([build, pack])
    return pack
  }

  func buildAndPack(
    _ simulation: SimulatedEnvironment,
    _ journal: InMemoryJournal
  ) -> AdvancedOperation {
    let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)
    AdvancedOperationQueue(environment: simulation.environment).addOperation(build)
    return build
  }
  let report = try exploreRestarts(randomSchedules: 10, of: buildAndPack)
  #expect(report.scheduleCount == 10)
}

@Test func `exploreRestarts: a card is charged once`() throws {
  final class Bank: Sendable {
    private let kept = Mutex<[(id: String, amount: Int)]>([])
    var charges: [Int] { kept.withLock { $0.map(\.amount) } }

    func charge(_ amount: Int, id: String) {
      kept.withLock { kept in
        if !kept.contains(where: { $0.id == id }) { kept.append((id, amount)) }
      }
    }
  }

  struct ChargedWrongly: Error { let charges: [Int] }

  try exploreRestarts(externalState: { Bank() }) { simulation, journal, bank in
    let charge = ResultOperation {
      bank.charge(50, id: "order 7")
      return 50
    }.recorded(as: "charge", in: journal)
    AdvancedOperationQueue(environment: simulation.environment).addOperation(charge)
    return charge
  } check: { bank in
    if bank.charges != [50] { throw ChargedWrongly(charges: bank.charges) }
  }
}
