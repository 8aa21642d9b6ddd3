import AdvancedOperations
import Testing

private func importFeed(network: Answer, print: Lines) async throws {
  let feed = FeedServer()
  let database = Database()

  let queue = AdvancedOperationQueue()

  let download = ResultOperation(name: "download", retry: .exponential(.seconds(1), attempts: 3)) {
    try await feed.download()
  }
  download.addCondition(BlockCondition("online") { await network.isReachable })
  download.addObserver(TimeoutObserver(.seconds(30)))

  let store = download.then(name: "store") { data in try await database.save(data) }
  store.addCondition(FreeSpace(atLeast: 50_000_000, at: "/var/data"))
  store.addCondition(MutuallyExclusive("database"))

  queue.addOperations([download, store])
  do {
    print("saved \(try await store.value) events")
  } catch let failure as OperationFailure {
    print("not saved:\n\(failure)")
  }
}

@Test func `README: without network the failure says where it came from`() async throws {
  let print = Lines()
  try await importFeed(network: Answer(false), print: print)
  let printed = """
    not saved:
    dependency “download”
      condition “online”: It does not hold.
    """
  #expect(print.all == [printed])
}

@Test func `README: with network the events are saved`() async throws {
  let print = Lines()
  try await importFeed(network: Answer(true), print: print)
  #expect(print.all == ["saved 3 events"])
}

@Test func `AdvancedOperations: work is composed, guarded and awaited`() async throws {
  let queue = AdvancedOperationQueue()
  let (feed, database, network) = (FeedServer(), Database(), Answer(true))

  let download = ResultOperation(name: "download", retry: .exponential(.seconds(1), attempts: 4)) {
    try await feed.download()
  }
  download.addCondition(BlockCondition("online") { await network.isReachable })
  download.addObserver(TimeoutObserver(.seconds(30)))

  let store = download.then(name: "store") { data in try await database.save(data) }
  store.addCondition(MutuallyExclusive("database"))

  queue.addOperations([download, store])
  let saved = try await store.value

  #expect(saved == 3)
}
