import AdvancedOperations
import AdvancedOperationsTesting
import Synchronization
import Testing

/// A subclass whose work goes on after `execute()` has returned, and which ends in each of the ways
/// in which an operation can.
@Suite struct `A program with its own operation class` {
  enum Problem: Error, Equatable {
    case refused(code: Int)
    case empty
  }

  /// Something with callbacks, as old libraries have them.
  final class Printer: Sendable {
    private let callback = Mutex<(@Sendable (Result<Int, Problem>) -> Void)?>(nil)
    private let stops = Mutex(0)

    var isPrinting: Bool { callback.withLock { $0 != nil } }
    var stopCount: Int { stops.withLock { $0 } }

    func print(_ pages: [String], _ body: @escaping @Sendable (Result<Int, Problem>) -> Void) {
      callback.withLock { $0 = body }
    }

    func end(_ result: Result<Int, Problem>) {
      let body = callback.withLock { callback in
        defer { callback = nil }
        return callback
      }
      body?(result)
    }

    func stop() { stops.withLock { $0 += 1 } }
  }

  final class Print: AdvancedOperation, @unchecked Sendable {
    // Sendable: stored properties don't change.
    let printer: Printer
    let pages: [String]?

    init(_ pages: [String]?, on printer: Printer) {
      self.printer = printer
      self.pages = pages
      super.init()
      name = "print"
    }

    override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

    override func execute() {
      guard let pages else { return skip(reason: "no document") }
      do {
        try check(pages)
      } catch {
        return finish(withError: error)
      }
      printer.print(pages) { result in
        switch result {
        case .success(let count):
          self.updateProgress(completed: Int64(count), total: Int64(pages.count))
          self.finish()
        case .failure(let problem): self.finish(withError: problem)
        }
      }
    }

    override func cancelled(withErrors errors: [any Error]) { printer.stop() }

    private func check(_ pages: [String]) throws {
      if pages.isEmpty { throw Problem.empty }
      if pages == ["unchanged"] { throw OperationSkipped(reason: "printed already") }
    }
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let queue: AdvancedOperationQueue
  let printer = Printer()

  init() {
    queue = AdvancedOperationQueue(environment: simulation.environment)
  }

  func run(_ pages: [String]?) -> Print {
    let operation = Print(pages, on: printer)
    queue.addOperation(operation)
    simulation.run()
    return operation
  }

  @Test func `the operation continues after execute has returned, until it is finished`() throws {
    let operation = Print(["one", "two"], on: printer)
    let recorder = RecordingObserver()
    operation.addObserver(recorder)
    queue.addOperation(operation)
    simulation.run()
    #expect(operation.state == .executing)
    #expect(printer.isPrinting)

    printer.end(.success(2))
    simulation.run()
    try expectOutcome(of: operation, is: .succeeded)
    try expectEvents(of: recorder, are: [.enqueued, .started, .progress, .willFinish, .finished])
  }

  @Test func `an error ends it as failed`() throws {
    let operation = run(["one"])
    printer.end(.failure(.refused(code: 7)))
    simulation.run()
    try expectOutcome(of: operation, is: .failed)
    let failure = try #require(operation.outcome?.failure)
    #expect(failure.first(Problem.self) == .refused(code: 7))
    #expect(failure.elements.map(\.origin) == [.body])
  }

  @Test func `an error that was thrown and caught ends it as failed`() throws {
    let operation = run([])
    try expectOutcome(of: operation, is: .failed)
    #expect(operation.errors.count == 1)
    #expect(operation.errors.first as? Problem == .empty)
    #expect(!printer.isPrinting)
  }

  @Test func `it ends as skipped when there is nothing to do`() throws {
    let operation = run(nil)
    try expectOutcome(of: operation, is: .skipped)
    #expect(operation.errors.isEmpty)
    guard case .skipped("no document") = operation.outcome else {
      return #expect(Bool(false), "\(operation)")
    }
  }

  @Test func `a skip that was thrown and caught isn't an error either`() throws {
    let operation = run(["unchanged"])
    try expectOutcome(of: operation, is: .skipped)
    #expect(operation.errors.isEmpty)
  }

  @Test func `a cancel stops the printer, and the operation ends when that has`() throws {
    let operation = run(["one"])
    operation.cancel()
    simulation.run()
    #expect(printer.stopCount == 1)
    #expect(operation.isCancelled)
    #expect(operation.state == .executing)

    printer.end(.success(0))
    simulation.run()
    try expectOutcome(of: operation, is: .cancelled)
  }

  @Test func `a task that awaits the operation gets the error`() throws {
    let operation = Print([], on: printer)
    let failure = try #require(throws: OperationFailure.self) {
      try simulation.run { [queue] in try await queue.run(operation) }
    }
    #expect(failure.first(Problem.self) == .empty)
  }

  @Test func `a task that awaits a skipped operation gets no error`() throws {
    let operation = Print(nil, on: printer)
    try simulation.run { [queue] in try await queue.run(operation) }
    try expectOutcome(of: operation, is: .skipped)
  }
}
