import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

/// Something that may be valid.
private struct Session: Sendable {
  let asked = Lines()
  var isValid: Bool {
    get async {
      asked("session")
      return false
    }
  }
}

@Test func `Two conditions: both report`() throws {
  let print = Lines()
  let network = Answer(false)
  let session = Session()
  let upload = AdvancedOperation(name: "upload")

  upload.addCondition(BlockCondition("online") { await network.isReachable })
  upload.addCondition(BlockCondition("signed in") { await session.isValid })

  simulate(upload)
  print(upload.explain())
  try expectShown(print, in: "TwoConditions")
  #expect(upload.errors.count == 2)
  #expect(session.asked.all.count == 1)
}

@Test func `Two conditions: the second of a pair isn't evaluated`() throws {
  let print = Lines()
  let network = Answer(false)
  let session = Session()
  let upload = AdvancedOperation(name: "upload")

  upload.addCondition(
    BlockCondition("online") { await network.isReachable }
      && BlockCondition("signed in") { await session.isValid }
  )

  simulate(upload)
  print(upload.explain())
  try expectShown(print, in: "TwoConditions")
  #expect(upload.errors.count == 1)
  #expect(session.asked.all.isEmpty)
}

/// What the table says of two conditions and their combinations.
@Test func `Two conditions: skipped, failed and satisfied`() {
  struct Fixed: ImmediateCondition {
    let name: String
    let result: OperationConditionResult
    func check(_ operation: AdvancedOperation) -> OperationConditionResult { result }
  }
  let holds = Fixed(name: "holds", result: .satisfied)
  let skips = Fixed(name: "skips", result: .skipped(reason: "nothing new"))
  let fails = Fixed(name: "fails", result: .failed(Offline()))
  func ending(_ conditions: any OperationCondition...) -> String {
    let operation = AdvancedOperation()
    for condition in conditions { operation.addCondition(condition) }
    simulate(operation)
    return String(operation.ending.prefix { $0.isLetter })
  }

  #expect(ending(skips, holds) == "skipped")
  #expect(ending(skips && holds) == "skipped")
  #expect(ending(skips || holds) == "succeeded")
  #expect(ending(skips, fails) == "failed")
  #expect(ending(skips && fails) == "skipped")
  #expect(ending(fails && skips) == "failed")
  #expect(ending(skips || fails) == "failed")
}

/// Writes until it is told to stop.
private final class Writer: Sendable {
  private let completion = Locked<(@Sendable () -> Void)?>(nil)
  func write(then completion: @escaping @Sendable () -> Void) {
    self.completion.withLock { $0 = completion }
  }
  func stop() { completion.withLock { $0.take() }?() }
}

@Test func `Does cancel finish: an override that must not be abandoned`() {
  final class Export: AdvancedOperation, @unchecked Sendable {
    let writer = Writer()
    override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }
    override func execute() {
      writer.write { self.finish() }
      // A cancel may have come before there was anything to stop.
      if isCancelled { writer.stop() }
    }
    override func cancelled(withErrors errors: [any Error]) { writer.stop() }
  }

  let export = Export()
  let simulation = simulate(export)
  #expect(export.state == .executing)
  export.cancel()
  simulation.run()
  #expect(export.ending == "cancelled")
}

private struct Stopped: Error, CustomStringConvertible {
  let description = "Not all files were read."
  let reason: (any Error)?
  init(because reason: (any Error)?) { self.reason = reason }
}

@Test func `Does cancel finish: a body knows why`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock
  let files = ["a", "b"]
  @Sendable func read(_ file: String) async throws {
    try? await clock.sleep(until: clock.now + .seconds(1))
  }

  let scan = ResultOperation(name: "scan") {
    for file in files {
      if Task.isCancelled { throw Stopped(because: AdvancedOperation.current?.cancellationReason) }
      try await read(file)
    }
  }

  queue.addOperation(scan)
  simulation.advance(by: .milliseconds(500))

  scan.cancel(withError: Offline())

  simulation.run()
  let print = Lines()
  print(scan.explain())
  try expectShown(print, in: "DoesCancelFinish")
  #expect(scan.errors.count == 2)
  #expect(scan.errors.contains { ($0 as? Stopped)?.reason is Offline })
}

/// Each row of the table, as far as it is about where the operation is.
@Test func `Does cancel finish: in no queue, in a queue, in a suspended one`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let loose = AdvancedOperation()
  loose.cancel()
  #expect(loose.isCancelled && loose.state == .pending)

  let waiting = AdvancedOperation()
  waiting.addDependency(AdvancedOperation())
  queue.addOperation(waiting)
  simulation.run()
  waiting.cancel()
  simulation.run()
  #expect(waiting.ending == "cancelled")

  queue.isSuspended = true
  queue.addOperation(loose)
  simulation.run()
  #expect(!loose.isFinished)
  queue.isSuspended = false
  simulation.run()
  #expect(loose.ending == "cancelled")
  loose.cancel()

  let done = AdvancedOperation()
  simulate(done)
  done.cancel()
  #expect(!done.isCancelled)
}

/// Calls back with a result.
private struct Client: Sendable {
  var result: Result<Int, any Error> = .success(1)
  func fetch(then completion: @escaping @Sendable (Result<Int, any Error>) -> Void) {
    completion(result)
  }
  func fetch() async throws -> Int { try result.get() }
}

@Test func `Must I call finish: in an override`() {
  final class Fetch: AdvancedOperation, @unchecked Sendable {
    let client = Client()
    override func execute() {
      client.fetch { result in
        switch result {
        case .success: self.finish()
        case .failure(let error): self.finish(withError: error)
        }
      }
    }
  }

  let fetch = Fetch()
  simulate(fetch)
  #expect(fetch.ending == "succeeded")
}

@Test func `Must I call finish: not with a closure`() throws {
  let client = Client()

  let fetch = ResultOperation(name: "fetch") { try await client.fetch() }

  simulate(fetch)
  #expect(try fetch.result?.get() == 1)
}

@Test func `Must I call finish: an override that doesn't`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  final class Forgetful: AdvancedOperation, @unchecked Sendable {
    override func execute() {}
  }

  let forgetful = Forgetful(name: "forgetful")
  queue.addOperation(forgetful)

  simulation.run()
  print(forgetful.explain())
  try expectShown(print, in: "MustICallFinish")

  forgetful.finish()
  simulation.run()
  #expect(forgetful.ending == "succeeded")
}

@Test func `Limit of one: what is ready goes first`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let other = AdvancedOperationQueue(environment: simulation.environment)
  let print = Lines()
  let (download, store) = (ResultOperation {}, ResultOperation { print("store") })
  let report = ResultOperation { print("report") }
  other.isSuspended = true
  other.addOperation(download)

  queue.maxConcurrentOperationCount = 1
  store.addDependency(download)  // in another queue
  queue.addOperations([store, report])

  simulation.run()
  other.isSuspended = false
  simulation.run()
  try expectShown(print, in: "LimitOfOne")
}

@Test func `Limit of one: a body releases its slot while it awaits`() async throws {
  let print = Lines()

  let queue = AdvancedOperationQueue(maxConcurrentOperationCount: 1)
  let album = ResultOperation(name: "album") {
    print("album begins")
    let photo = ResultOperation(name: "photo") { print("photo") }
    try await releasingSlot { try await queue.run(photo) }
    print("album continues")
  }
  let report = ResultOperation(name: "report") { print("report") }
  queue.addOperations([album, report])

  try await queue.untilAllOperationsAreFinished()
  try expectShown(print, in: "LimitOfOne")
}

private final class Insert: AdvancedOperation, @unchecked Sendable {
  init(_ row: Int) {
    super.init()
    name = "\(row)"
  }
}

@Test func `Limit of one: a claim is what excludes`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let rows = Array(1...4)
  let order = Lines()
  queue.addObserver(BlockObserver(didStart: { order($0.name ?? "") }))

  for row in rows {
    let insert = Insert(row)
    insert.addClaim(MutuallyExclusive("database"))
    queue.addOperation(insert)
  }

  simulation.run()
  #expect(Set(order.all) == ["1", "2", "3", "4"])
}

@Test(arguments: 1...20)
func `Limit of one: dependencies keep the order of adding`(seed: UInt64) {
  let simulation = SimulatedEnvironment(seed: seed)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let rows = Array(1...8)
  let order = Lines()
  queue.addObserver(BlockObserver(didStart: { order($0.name ?? "") }))

  var previous: Insert?
  for row in rows {
    let insert = Insert(row)
    insert.addClaim(MutuallyExclusive("database"))
    if let previous { insert.addDependency(previous) }
    queue.addOperation(insert)
    previous = insert
  }

  simulation.run()
  #expect(order.all == rows.map { "\($0)" })
}

@Test(arguments: 1...20)
func `Limit of one: operations without waits keep the order of adding`(seed: UInt64) {
  let simulation = SimulatedEnvironment(seed: seed)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  queue.maxConcurrentOperationCount = 1
  let order = Lines()
  queue.addObserver(BlockObserver(didStart: { order($0.name ?? "") }))
  for row in 1...8 { queue.addOperation(Insert(row)) }
  simulation.run()
  #expect(order.all == (1...8).map { "\($0)" })
}

@Test func `Subclasses: they restate that they are Sendable`() {
  let lines = Lines()
  final class Import: AdvancedOperation, @unchecked Sendable {
    // Sendable: stored properties don't change.
    let file: String

    init(file: String) {
      self.file = file
      super.init(name: "import \(file)")
    }

    override func execute() {
      read(file)
      finish()
    }
  }
  let importing = Import(file: "feed.csv")
  simulate(importing)
  lines(importing.ending)
  #expect(lines.all == ["succeeded"])
}

private func read(_ file: String) {}
private func rows(of file: String) async throws -> [String] { [file] }

@Test func `Subclasses: a value instead of a property`() async throws {
  let queue = AdvancedOperationQueue()
  func example() async throws -> [String] {
    let importing = ResultOperation(name: "import") { try await rows(of: "feed.csv") }
    queue.addOperation(importing)
    return try await importing.value
  }
  #expect(try await example() == ["feed.csv"])
}
