import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

private struct PaymentRefused: Error { var code = 51 }

/// What an HTTP handler answers.
private enum Response: Equatable {
  case ok(Int)
  case noContent(String), paymentRequired(Int)
  case gatewayTimeout, clientClosedRequest, internalServerError
}

private struct Logger {
  let lines: Lines
  func error(_ line: String) { lines(line) }
}

private func handle(
  _ order: ResultOperation<Int>,
  _ lines: Lines
) async throws -> Response {
  let logger = Logger(lines: lines)

  do {
    return .ok(try await order.value)
  } catch let failure as OperationFailure {
    if let reason = failure.skipReason { return .noContent(reason) }
    if failure.isTimeout { return .gatewayTimeout }
    if failure.isCancellation { return .clientClosedRequest }
    if let refusal = failure.first(PaymentRefused.self) { return .paymentRequired(refusal.code) }
    logger.error("\(failure.summary())")
    return .internalServerError
  }
}

@Test func `OperationFailure: one catch decides`() async throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let lines = Lines()
  let clock = simulation.environment.clock
  let bodies: [(@Sendable () async throws -> Int, Response)] = [
    ({ 7 }, .ok(7)),
    (
      { throw OperationSkipped(reason: "nothing in the basket") },
      .noContent("nothing in the basket")
    ),
    ({ throw PaymentRefused() }, .paymentRequired(51)),
    ({ throw Offline() }, .internalServerError),
    (
      {
        try await clock.sleep(until: .seconds(600))
        return 7
      }, .gatewayTimeout
    ),
    (
      {
        AdvancedOperation.current?.cancel()
        return 7
      }, .clientClosedRequest
    ),
  ]
  for (body, response) in bodies {
    let payment = ResultOperation(name: "payment", body: body)
    payment.addObserver(TimeoutObserver(.seconds(30)))
    let order = payment.then(name: "order") { $0 }
    queue.addOperations([payment, order])
    simulation.run()
    #expect(try await handle(order, lines) == response)
  }
  #expect(lines.all == ["dependency “payment”: The connection was lost."])
}

@Test func `OperationFailure: the first error of a type`() throws {
  let print = Lines()
  let payment = ResultOperation(name: "payment") { () async throws -> Int in throw PaymentRefused()
  }
  let order = payment.then(name: "order") { $0 }
  simulate(payment, order)
  let failure = try #require(order.outcome?.failure)
  func show(_ code: Int) { print(code) }

  if let refusal = failure.first(PaymentRefused.self) { show(refusal.code) }

  #expect(print.all == ["51"])
}

@Test func `Origin: the operation in which an error happened`() throws {
  let print = Lines()
  let download = ResultOperation(name: "download") { () async throws -> Int in throw Offline() }
  let parse = download.then(name: "parse") { $0 }
  let map = parse.then(name: "map") { $0 }
  simulate(download, parse, map)
  let failure = try #require(map.outcome?.failure)

  for cause in failure.rootCauses {
    print("\(cause.origin.operation ?? "map") failed: \(cause.error)")
  }

  #expect(print.all == ["download failed: The connection was lost."])
}

private enum Step: Hashable { case send(order: Int), archive }

@Test func `OperationLabel: code recognizes an operation by its tag`() throws {
  let send = ResultOperation { throw Offline() }

  send.name = "send order 7"
  send.tag = Step.send(order: 7)

  let group = GroupOperation { send }
  simulate(group)
  let failure = try #require(group.outcome?.failure)
  var unsent: [Int] = []

  for cause in failure.rootCauses {
    if case .send(let order)? = cause.origin.operation?.tag as? Step { unsent.append(order) }
  }

  #expect(unsent == [7])
}

@Test func `OperationFailure: its root causes are found however far away they are`() throws {
  let print = Lines()
  let download = ResultOperation(name: "download", retry: .immediate.attempts(3)) {
    () async throws -> Int in throw Offline()
  }
  let parse = download.then(name: "parse") { $0 }
  let store = parse.then(name: "store") { $0 }
  simulate(download, parse, store)
  let failure = try #require(store.outcome?.failure)

  // However far away in the workflow it happened:
  for cause in failure.rootCauses { print("\(cause.origin): \(cause.error)") }
  // dependency “parse”, dependency “download”, attempt 3, body: The connection was lost.

  #expect(print.all.count == 3)
  #expect(
    print.all.last
      == "dependency “parse”, dependency “download”, attempt 3, body: The connection was lost."
  )
}

@Test func `OperationFailure.Cancellation: what cancelled an operation`() throws {
  let print = Lines()
  let operation = AdvancedOperation()
  operation.cancel(withError: Offline())
  simulate(operation)
  let failure = try #require(operation.outcome?.failure)

  switch failure.cancellation {
  case .timeout(let limit): print("\(limit)")
  case .reason(let error): print("cancelled because of \(error)")
  case nil: print("\(failure.summary())")
  default: print("cancelled")
  }

  #expect(print.all == ["cancelled because of The connection was lost."])
}

@Test func `GroupOperation.SiblingFailed: why a child was given up`() {
  let print = Lines()
  let upload = AdvancedOperation()
  let check = ResultOperation(name: "check") { throw Offline() }
  upload.addDependency(check)
  let group = GroupOperation(name: "sync", errorPolicy: .failFast) {
    check
    upload
  }
  simulate(group)

  if let reason = upload.cancellationReason as? GroupOperation.SiblingFailed {
    print("given up, because “\(reason.sibling)” failed: \(reason.failure.summary())")
  }

  #expect(print.all == ["given up, because “check” failed: The connection was lost."])
}

/// A feed that hasn't changed.
private struct UnchangedFeed {
  struct Response {
    let isNotModified = true
    let body = ""
  }

  func download(ifNewerThan time: Int) async throws -> Response { Response() }
}

@Test func `OperationSkipped: a body finds nothing to do`() {
  let feed = UnchangedFeed()
  let lastChange = 0

  let download = ResultOperation(name: "download") {
    let response = try await feed.download(ifNewerThan: lastChange)
    if response.isNotModified { throw OperationSkipped(reason: "not modified") }
    return response.body
  }

  let parse = download.then(name: "parse") { $0 }
  simulate(download, parse)
  #expect("\(parse.outcome as Any)".contains("skipped: not modified"))
}

@Test func `AdvancedOperation: execute() finds nothing to do`() {
  struct Cache: Sendable { let isOutdated = false }
  final class Refresh: AdvancedOperation, @unchecked Sendable {
    let cache = Cache()
    func refresh() {}

    override func execute() {
      guard cache.isOutdated else { return skip(reason: "the cache is up to date") }
      refresh()
      finish()
    }
  }
  let refresh = Refresh()
  simulate(refresh)
  #expect(refresh.ending == "skipped: the cache is up to date")
}

@Test func `AdvancedOperation: the error of a callback may be nil`() {
  struct Connection: Sendable {
    func send(_ message: String, _ completion: @Sendable ((any Error)?) -> Void) { completion(nil) }
  }
  final class Send: AdvancedOperation, @unchecked Sendable {
    let connection = Connection()
    let message = "hello"

    override func execute() {
      connection.send(message) { error in self.finish(withError: error) }
    }
  }
  let send = Send()
  simulate(send)
  #expect(send.ending == "succeeded")
}
