import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import InMemoryTracing
import Logging
import OrderWorkflow
import Synchronization
import Testing
import Tracing

@testable import OrderHTTP

/// Spans of operations, and logs of their bodies.
@Suite struct TracingTests {
  private struct Busy: Error {}

  private let tracer = InMemoryTracer()
  private let simulation = SimulatedEnvironment(seed: 3)
  private let recorder = TimelineRecorder()
  private let queue: AdvancedOperationQueue

  init() {
    queue = AdvancedOperationQueue(environment: simulation.environment)
    let tracing = OperationTracing(tracer: tracer) { [recorder] _ in recorder.timeline }
    queue.addObserver(recorder)
    queue.addObserver(tracing)
    queue.addInterceptor(tracing)
  }

  private func span(_ name: String) throws -> FinishedInMemorySpan {
    try #require(tracer.finishedSpans.first { $0.operationName == name }, "\(name)")
  }

  @Test func `An order's span has the request's as parent, and its steps' have the order's`() throws
  {
    let request = tracer.startSpan("request", context: .topLevel)
    let order = GroupOperation(name: "order 7") { ResultOperation(name: "charge") {} }
    ServiceContext.$current.withValue(request.context) { queue.addOperation(order) }
    simulation.run()
    request.end()
    let (parent, step) = (try span("order"), try span("charge"))
    #expect(parent.parentSpanID == request.spanID && parent.traceID == request.traceID)
    #expect(step.parentSpanID == parent.spanID)
    #expect(try span("charge, attempt 1").parentSpanID == step.spanID)
    #expect(step.attributes.get("order.id") == "7".toSpanAttribute())
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test func `Each attempt has a span with its error, and the operation has its waits`() throws {
    let order = GroupOperation(name: "order 7") {
      let validate = ResultOperation(name: "validate") { [clock = simulation.environment.clock] in
        try await clock.sleep(for: .seconds(3))
      }
      validate
      validate.then(name: "charge", retry: .constant(.seconds(10)).attempts(3)) { _ in
        if AdvancedOperation.current?.attempt != 3 { throw Busy() }
      }
    }
    queue.addOperation(order)
    simulation.run()
    let charge = try span("charge")
    for attempt in 1...3 {
      let attemptSpan = try span("charge, attempt \(attempt)")
      #expect(attemptSpan.parentSpanID == charge.spanID)
      #expect(attemptSpan.errors.count == (attempt < 3 ? 1 : 0))
    }
    #expect(charge.attributes.get("waited.dependencies") == 3.0.toSpanAttribute())
    #expect(charge.attributes.get("waited.retry") == 20.0.toSpanAttribute())
    #expect(charge.attributes.get("operation.outcome") == "succeeded".toSpanAttribute())
    #expect(charge.events.map(\.name) == ["started", "retrying", "retrying"])
    // What it has waited for is linked.
    #expect(charge.links.count == 1)
    let linked = try #require(charge.links.first?.context.inMemorySpanContext)
    #expect(linked.spanID == (try span("validate")).spanID)
  }

  @Test func `A wait for a claim is in the attribute waited.turn`() throws {
    let clock = simulation.environment.clock
    for name in ["order 1", "order 2"] {
      let step = ResultOperation(name: "reserve MUG") { try await clock.sleep(for: .seconds(5)) }
      step.addClaim(MutuallyExclusive("item MUG"))
      // A span of the timeline is found by its name, and both have the same.
      step.name = name == "order 1" ? "reserve A" : "reserve B"
      queue.addOperation(GroupOperation(name: name) { step })
    }
    simulation.run()
    let waits = tracer.finishedSpans.filter { $0.operationName == "reserve" }
      .map { $0.attributes.get("waited.turn") }
    #expect(waits.contains(5.0.toSpanAttribute()) && waits.contains(nil))
  }

  @Test func `A failure is the error of the span`() throws {
    queue.addOperation(
      GroupOperation(name: "order 7") {
        ResultOperation(name: "ship") { throw Busy() }
      }
    )
    simulation.run()
    for name in ["ship", "order"] {
      let span = try span(name)
      #expect(span.status?.code == .error && span.errors.count == 1)
      #expect(span.attributes.get("operation.cause") == "Busy".toSpanAttribute())
    }
  }

  @Test func `What a body runs is below its attempt, and its logs say order and step`() throws {
    let logs = Mutex<[Logger.Metadata]>([])
    var logger = Logger(label: "test") { _ in
      MetadataLogHandler { metadata in
        logs.withLock { $0.append(metadata) }
      }
    }
    logger.logLevel = .info
    withLogger(logger) { _ in
      queue.addOperation(
        GroupOperation(name: "order 7") {
          ResultOperation(name: "charge") {
            Logger.current.info("begins")
            try await withOperations { scope in
              scope.add(ResultOperation(name: "charge request") { Logger.current.info("asks") })
            }
          }
        }
      )
    }
    simulation.run()
    let (inner, outer) = (try span("charge request"), try span("charge, attempt 1"))
    #expect(inner.parentSpanID == outer.spanID)
    #expect(inner.attributes.get("order.id") == "7".toSpanAttribute())
    let seen = logs.withLock { $0 }
    #expect(seen.map { $0["order"] } == ["7", "7"])
    #expect(seen.map { $0["step"] } == ["charge", "charge request"])
    #expect(seen.map { $0["attempt"]?.description } == ["1", "1"])
  }

  @Test func `Nothing is kept of an order that has ended`() throws {
    weak let group: GroupOperation?
    do {
      let order = GroupOperation(name: "order 7") { ResultOperation(name: "ship") {} }
      group = order
      queue.addOperation(order)
      simulation.run()
    }
    #expect(group == nil)
    #expect(tracer.activeSpans.isEmpty)
  }
}

/// A handler that hands on what lines carry.
private struct MetadataLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace
  let log: @Sendable (Logger.Metadata) -> Void

  init(_ log: @escaping @Sendable (Logger.Metadata) -> Void) { self.log = log }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    log(metadata.merging(event.metadata ?? [:]) { $1 })
  }
}
