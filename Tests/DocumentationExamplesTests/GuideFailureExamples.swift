import AdvancedOperations
import AdvancedOperationsTesting
import Testing

private struct Malformed: Error, CustomStringConvertible {
  let line: Int
  var description: String { "Line \(line) has no date." }
}

/// Where the examples download from: the second feed can't be had, the third is malformed.
private func load(_ name: String) async throws -> String {
  if name == "stations" { throw Offline() }
  return name
}

@Test func `Outcomes and failures: from a failure to its cause`() async throws {
  let print = Lines()

  let events = ResultOperation(name: "events") { try await load("events") }
  let stations = ResultOperation(name: "stations", retry: .immediate.attempts(2)) {
    try await load("stations")
  }
  let parse = events.then(name: "parse") { text -> [String] in throw Malformed(line: 7) }
  let map = ResultOperation(name: "map", after: parse, stations) { events, stations in
    "\(events.count) events, \(stations)"
  }

  let queue = AdvancedOperationQueue()
  queue.addOperations([events, stations, parse])
  try await queue.untilAllOperationsAreFinished()  // the first failure would end the map
  queue.addOperation(map)
  do {
    print("drawn:", try await map.value)
  } catch let failure as OperationFailure {
    print("not drawn:\n\(failure)")
  }

  try expectShown(print, in: "OutcomesAndFailures")
  #expect(map.outcome?.isInherited == true)
  #expect(parse.outcome?.isInherited == false)
  if let failure = map.outcome?.failure { try showDetails(of: failure) }
}

private func showDetails(of failure: OperationFailure) throws {
  let print = Lines()

  if let malformed = failure.first(Malformed.self) { print("correct line \(malformed.line)") }
  for cause in failure.rootCauses { print("\(cause.origin): \(cause.error)") }
  print(failure.summary())

  try expectShown(print, in: "OutcomesAndFailures")
}

@Test func `Outcomes and failures: origins are compared`() throws {
  let download = ResultOperation(name: "download", retry: .immediate.attempts(4)) {
    throw Offline()
  }
  let parse = download.then(name: "parse") {}
  simulate(download, parse)
  let failure = try #require(download.outcome?.failure)
  let inherited = try #require(parse.outcome?.failure)

  #expect(failure.elements.map(\.origin) == (1...4).map { .attempt($0, .body) })

  #expect(
    inherited.rootCauses.map(\.origin)
      == (1...4).map { .dependency("download", .attempt($0, .body)) }
  )
}

@Test func `Outcomes and failures: which failures travel`() {
  func endings(_ policy: GroupOperation.ErrorPolicy, recovers: Bool = false) -> [String] {
    let download = ResultOperation(name: "download") { throw Offline() }
    let parse = download.then(name: "parse") {}
    let notify = AdvancedOperation(name: "notify")
    notify.addDependency(download)
    let sync = GroupOperation(name: "sync", errorPolicy: policy) {
      download
      parse
      notify
    }
    if recovers { sync.mapChildErrors { _, _ in nil } }
    simulate(sync)
    return [sync, download, parse, notify].map { $0.outcome?.description.firstWord ?? "none" }
  }
  #expect(endings(.collectAll) == ["failed", "failed", "failed", "succeeded"])
  #expect(endings(.failFast) == ["failed", "failed", "cancelled", "cancelled"])
  #expect(endings(.collectAll, recovers: true) == ["succeeded", "failed", "failed", "succeeded"])
}

extension String {
  fileprivate var firstWord: String { String(prefix { $0.isLetter }) }
}

@Test func `Outcomes and failures: a skip travels to what needs the value`() {
  let download = ResultOperation(name: "download") { throw OperationSkipped(reason: "unchanged") }
  let parse = download.then(name: "parse") {}
  let notify = AdvancedOperation(name: "notify")
  notify.addDependency(download)
  simulate(download, parse, notify)
  #expect(parse.ending == "skipped: unchanged")
  #expect(notify.ending == "succeeded")
}
