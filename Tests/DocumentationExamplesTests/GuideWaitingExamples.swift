import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import CoreOperations
import Testing

@Test func `Why isn't it running: an operation, its queue, and one cause`() throws {
  let print = Lines()

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(name: "main", environment: simulation.environment)
  let recorder = TimelineRecorder()
  queue.addObserver(recorder)

  let backup = ResultOperation(name: "backup") { try await clock.sleep(for: .seconds(60)) }
  backup.addClaim(MutuallyExclusive("database"))
  let parse = ResultOperation(name: "parse") {}
  let store = parse.then(name: "store") { _ in }
  store.addClaim(MutuallyExclusive("database"))
  let report = store.then(name: "report") { _ in }
  let review = ResultOperation(name: "review") {}
  let publish = ResultOperation(name: "publish") {}
  publish.addDependency(review)

  queue.addOperations([backup, parse, store, report, publish])
  simulation.advance(by: .seconds(5))

  print(report.explain())

  try expectShown(print, in: "WhyIsntItRunning")
  let ofQueue = Lines()
  do {
    let print = ofQueue

    print(queue.explain())

    try expectShown(print, in: "WhyIsntItRunning")
  }
  let ofCauses = Lines()
  do {
    let print = ofCauses

    for cause in publish.explain().rootCauses where cause.kind == .notEnqueued {
      print("add it to a queue:", cause.name)
    }
    for cause in report.waitCauses { print(report, cause) }

    try expectShown(print, in: "WhyIsntItRunning")
  }

  queue.addOperation(review)
  simulation.run()
  let ofGraph = Lines()
  do {
    let print = ofGraph

    print(OperationGraph(of: [parse, store, report]).mermaid())

    try expectShown(print, in: "WhyIsntItRunning")
  }
  let ofTimeline = Lines()
  do {
    let print = ofTimeline

    for span in recorder.timeline.spans where span.name == "store" {
      print("ready at \(span.ready ?? .zero), started at \(span.started ?? .zero)")
    }

    try expectShown(print, in: "WhyIsntItRunning")
  }
}

/// Each row of the table.
@Test func `Why isn't it running: the lines of the table`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  func makeQueue(_ name: String) -> AdvancedOperationQueue {
    AdvancedOperationQueue(name: name, environment: simulation.environment)
  }
  func make(_ name: String) -> ResultOperation<Void> { ResultOperation(name: name) {} }
  func firstLine(_ operation: AdvancedOperation) -> String {
    "\(operation.explain())".split(separator: "\n").first.map(String.init) ?? ""
  }
  let (main, paused, narrow) = (makeQueue("main"), makeQueue("paused"), makeQueue("narrow"))

  let a = make("a")
  paused.isSuspended = true
  paused.addOperation(a)

  let b = make("b")
  let hold = ResultOperation(name: "hold") { try await clock.sleep(for: .seconds(60)) }
  narrow.maxConcurrentOperationCount = 1
  narrow.addOperation(hold)
  simulation.advance(by: .zero)
  narrow.addOperation(b)

  let c = make("c")
  c.addCondition(
    BlockCondition("online") {
      try await clock.sleep(for: .seconds(60))
      return true
    }
  )

  final class Forgetful: AdvancedOperation, @unchecked Sendable { override func execute() {} }
  let d = Forgetful(name: "d")

  let e = make("e")
  let group = GroupOperation(name: "group") { e }

  let f = ResultOperation(name: "f", retry: .constant(.seconds(30)).attempts(3)) {
    throw Offline()
  }
  main.addOperations([c, d, f])
  simulation.advance(by: .seconds(1))

  #expect(firstLine(a) == "a waits for queue “paused” to be resumed")
  #expect(
    firstLine(b) == "b waits for a slot of queue “narrow”, whose limit of 1 is used up by hold"
  )
  #expect(firstLine(c) == "c waits for the answer of condition “online” for 1 s")
  #expect(firstLine(d) == "d has returned from execute(), and waits for finish() to be called")
  #expect(firstLine(e) == "e is a child of group, which has not started")
  #expect(
    firstLine(f) == "f waits: attempt 1 failed (The connection was lost.); tries again in 29 s"
  )
  withExtendedLifetime(group) {}
  d.finish()
  simulation.run()
}

@Test func `Why isn't it running: a cycle of dependencies`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  let parse = ResultOperation(name: "parse") {}
  let store = ResultOperation(name: "store") {}
  store.addDependency(parse)
  parse.addDependency(store)
  queue.addOperations([parse, store])

  simulation.run()
  #expect(parse.cancellationReason is OperationCycleError)
  #expect(store.cancellationReason is OperationCycleError)

  print(parse.explain())

  try expectShown(print, in: "WhyIsntItRunning")
}

@Test func `Why isn't it running: a separate task prints the explanation while the program hangs`()
  async throws
{
  let print = Lines()
  let queue = AdvancedOperationQueue()
  let report = ResultOperation(name: "report") {}
  queue.addOperation(report)

  let watch = Task.detached { [queue] in
    try await Task.sleep(for: .seconds(10))
    print(report.explain())
    print(queue.explain())
  }
  defer { watch.cancel() }
  try await report.value
}
