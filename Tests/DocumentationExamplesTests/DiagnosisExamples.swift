import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import CoreOperations
import Testing

/// Two operations, one after the other, of three and one seconds.
private func workflow(_ clock: OperationClock) -> [ResultOperation<Void>] {
  let download = ResultOperation(name: "download") {
    try await clock.sleep(until: clock.now + .seconds(3))
  }
  let store = download.then(name: "store") { try await clock.sleep(until: clock.now + .seconds(1)) }
  return [download, store]
}

@Test func `OperationGraph: as text for two programs`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let print = Lines()
  let operations = workflow(simulation.environment.clock)
  let (download, store) = (operations[0], operations[1])
  queue.addOperations(operations)

  print(queue.graph.dot())  // for Graphviz: dot -Tsvg
  print(OperationGraph(of: [download, store]).mermaid())  // for Markdown

  for node in queue.graph.nodes where node.state == .pending { print(node.name) }

  // What hasn't ended, and what went wrong:
  let rest = queue.graph.filter { $0.outcome?.isSuccess != true }
  #expect(rest.nodes.count == 2)

  simulation.run()
  #expect(print.all.prefix(2).map { $0.contains("op_download") } == [true, true])
  #expect(print.all.dropFirst(2) == ["store"], "download has no dependency, and is ready")
}

@Test func `explain(limit:): the first causes of many`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let orders = AdvancedOperationQueue(name: "orders", environment: simulation.environment)
  let print = Lines()
  let (payment, stock) = (AdvancedOperation(name: "payment"), AdvancedOperation(name: "stock"))
  let operations = ["pack", "bill", "ship"].map { AdvancedOperation(name: $0) }
  for operation in operations { operation.addDependency(payment) }
  let count = AdvancedOperation(name: "count")
  count.addDependency(stock)
  let warehouse = AdvancedOperationQueue(name: "warehouse", environment: simulation.environment)
  warehouse.isSuspended = true
  warehouse.addOperation(stock)
  orders.addOperations(operations + [count])
  simulation.run()

  print(orders.explain(limit: 1))
  // queue “orders”: 4 operations, 0 executing
  //   payment isn't in a queue (3 wait: pack, bill, ship)
  //   … and 1 more cause
  // needed: payment has to be added to a queue

  #expect(
    print.all == [
      """
      queue “orders”: 4 operations, 0 executing
        payment isn't in a queue (3 wait: pack, bill, ship)
        … and 1 more cause
      needed: payment has to be added to a queue
      """
    ]
  )
}

@Test func `TimelineRecorder: pictures of a workflow`() async throws {
  let queue = AdvancedOperationQueue()
  let print = Lines()
  let workflow = (1...3).map { _ in AdvancedOperation() }

  let recorder = TimelineRecorder()
  queue.addObserver(recorder)  // or operation.addObserver(recorder)
  queue.addOperations(workflow)
  try await queue.untilAllOperationsAreFinished()
  print(recorder.timeline.svg())  // a picture
  print(recorder.timeline.chromeTrace())  // for ui.perfetto.dev
  print(recorder.timeline.plan.schedule(workers: 8).duration)

  #expect(print.all.count == 3)
  #expect(recorder.timeline.spans.count == 3)
}

@Test func `OperationTimeline and OperationPlan: what if`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let recorder = TimelineRecorder()
  let print = Lines()
  queue.addObserver(recorder)
  let clock = simulation.environment.clock
  let other = ResultOperation(name: "other") {
    try await clock.sleep(until: clock.now + .seconds(5))
  }
  queue.addOperations(workflow(clock) + [other])
  simulation.run()

  let timeline = recorder.timeline
  let names = timeline.criticalPath.map { timeline.spans[$0].name }
  print("\(timeline.duration) for \(timeline.plan.work) of work, at least \(names)")

  var plan = recorder.timeline.plan
  print(plan.schedule(workers: 4).duration)  // with four at a time
  plan.durations[2] /= 2
  print(plan.schedule(workers: 4).duration)  // and if the third were twice as fast

  let schedule = plan.schedule(workers: 2)
  print(schedule.duration, schedule.starts, schedule.workers)

  #expect(
    print.all == [
      "5.0 seconds for 9.0 seconds of work, at least [\"other\"]", "5.0 seconds", "4.0 seconds",
      "4.0 seconds [0.0 seconds, 3.0 seconds, 0.0 seconds] [0, 0, 1]",
    ]
  )
}

@Test func `AdvancedOperationQueue: an observer of all that is added`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let print = Lines()

  queue.addObserver(BlockObserver(didFinish: { operation, _ in print(operation) }))

  let group = GroupOperation(name: "group") { AdvancedOperation() }
  queue.addOperation(group)
  simulation.run()
  #expect(print.all == ["AdvancedOperation (succeeded)", "group (succeeded)"])
}

@Test func `OperationExplanation: why it isn't running, to the root`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock
  let print = Lines()
  let backup = ResultOperation(name: "backup") { try await clock.sleep(until: .seconds(60)) }
  let (parse, store) = (ResultOperation(name: "parse") {}, ResultOperation(name: "store") {})
  store.addDependency(parse)
  for operation in [backup, parse] { operation.addClaim(MutuallyExclusive("db")) }
  queue.addOperations([backup, parse, store])
  simulation.advance(by: .milliseconds(3_200))

  print(store.explain())
  // store waits for parse
  //   parse waits for “db”, which backup holds
  //   backup has been executing for 3.2 s
  // needed: backup has to finish (its async body may be waiting for a timer, …)

  #expect(
    print.all == [
      """
      store waits for parse
        parse waits for “db”, which backup holds
        backup has been executing for 3.2 s
      needed: backup has to finish \
      (its async body may be waiting for a timer, a stream, a continuation or a lock)
      """
    ]
  )

  if store.state < .executing { print(store.explain()) }

  #expect(print.all.count == 2)
  simulation.run()
}

@Test func `AdvancedOperationQueue: what it does, and what waits for what`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock
  let print = Lines()
  queue.name = "main"
  queue.maxConcurrentOperationCount = 2
  queue.addObserver(TimelineRecorder())
  let names = ["store", "index", "report", "mail", "log", "a", "b"]
  let backup = ResultOperation(name: "backup") { try await clock.sleep(until: .seconds(60)) }
  backup.addClaim(MutuallyExclusive("db"))
  queue.addOperation(backup)
  simulation.advance(by: .zero)
  for name in names {
    let operation = ResultOperation(name: name) {}
    operation.addClaim(MutuallyExclusive("db"))
    queue.addOperation(operation)
  }
  simulation.advance(by: .milliseconds(3_200))

  print(queue.explain())
  // queue “main” (limit 2): 8 operations, 1 executing
  //   backup has been executing for 3.2 s (7 wait: store, index, report, mail and 3 more)
  // needed: backup has to finish (its async body may be waiting for a timer, …)

  #expect(
    print.all == [
      """
      queue “main” (limit 2): 8 operations, 1 executing
        backup has been executing for 3.2 s (7 wait: store, index, report, mail and 3 more)
      needed: backup has to finish \
      (its async body may be waiting for a timer, a stream, a continuation or a lock)
      """
    ]
  )
  simulation.run()
}
