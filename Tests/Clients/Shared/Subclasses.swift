import AdvancedOperations
import Dispatch
import Testing

// Each client target compiles this file, with its own settings.
#if IMPORTS_FOUNDATION
import Foundation

import class CoreOperations.BlockOperation
import class CoreOperations.OperationQueue
#endif

// Every open class has subclasses here: with an initialiser of their own and without one, generic
// and not. One of the initialisers of results once crashed the compiler in these.

private nonisolated final class Five: ResultOperation<Int>, @unchecked Sendable {
  init() { super.init { 5 } }
}

private nonisolated class Counting: ResultOperation<Int>, @unchecked Sendable {}

private nonisolated class Constant<Value: Sendable>: ResultOperation<Value>, @unchecked Sendable {
  // Sendable: stored properties don't change.
  let constant: Value
  init(_ constant: Value) {
    self.constant = constant
    super.init(name: "constant") { constant }
  }
}

private nonisolated final class Text: Constant<String>, @unchecked Sendable {}

private nonisolated final class Transforming<Output: Sendable>: ResultOperation<Output>,
  @unchecked Sendable
{}

private nonisolated final class Import: GroupOperation, @unchecked Sendable {
  init(rows: Int) {
    super.init(name: "import") {
      for row in 0..<rows { Constant(row) }
    }
  }
}

private nonisolated final class Batch: GroupOperation, @unchecked Sendable {}

private nonisolated final class Upload: AdvancedOperation, @unchecked Sendable {
  // Sendable: stored properties don't change.
  let file: String
  // The call of super.init() is implied, as it is for Foundation's operations.
  init(file: String) { self.file = file }
  override func execute() { finish() }
}

private nonisolated final class Ping: AdvancedOperation, @unchecked Sendable {
  override func execute() { finish() }
}

private nonisolated final class Twice: BlockOperation, @unchecked Sendable {
  init(_ block: @escaping @Sendable () -> Void) {
    super.init()
    addExecutionBlock(block)
    addExecutionBlock(block)
  }
}

private nonisolated final class Step: BlockOperation, @unchecked Sendable {}

private nonisolated final class Line: AdvancedOperationQueue, @unchecked Sendable {
  init(_ name: String) {
    super.init()
    self.name = name
    maxConcurrentOperationCount = 1
  }
}

private nonisolated final class Lines: AdvancedOperationQueue, @unchecked Sendable {}

private nonisolated class Plain: OperationQueue, @unchecked Sendable {}

private nonisolated final class PlainAgain: Plain, @unchecked Sendable {}

private nonisolated class Serial: OperationQueue, @unchecked Sendable {
  override init() {
    super.init()
    maxConcurrentOperationCount = 1
  }
}

private nonisolated final class Uploads: OperationQueue, @unchecked Sendable {
  // Sendable: stored properties don't change.
  let host: String
  init(host: String) {
    self.host = host
    super.init()
  }
}

private nonisolated final class Downloads: OperationQueue, @unchecked Sendable {
  override init(executor: any OperationExecutor) {
    super.init(executor: executor)
    name = "downloads"
  }
  convenience init(at once: Int) {
    self.init(executor: AtOnce())
    maxConcurrentOperationCount = once
  }
}

/// Runs workers on the threads of the system's own queues.
private nonisolated struct AtOnce: OperationExecutor {
  func enqueue(_ worker: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async(execute: worker)
  }
}

@Suite struct `Subclasses in this app` {
  @Test func `subclasses of advanced operations execute`() async throws {
    let queue = Line("line")
    let upload = Upload(file: "a")
    let ping = Ping(name: "ping")
    queue.addOperations([upload, ping])
    try await queue.untilAllOperationsAreFinished()
    #expect(upload.outcome?.isSuccess == true && ping.outcome?.isSuccess == true)
    #expect(upload.file == "a" && ping.name == "ping")
  }

  @Test func `subclasses of result operations produce values`() async throws {
    let queue = Line("line")
    let five = Five()
    let four = Counting(name: "four") { 4 }
    let text = Text("sum")
    let sum = Counting(name: "sum", after: five, four) { five, four in five + four }
    let line = Transforming(name: "line", after: text, sum) { text, sum in "\(text) \(sum)" }
    let count = line.then { line in line.count }
    queue.addOperations([five, four, text, sum, line, count])
    let value = try await line.value
    let length = try await count.value
    #expect(value == "sum 9")
    #expect(length == 5)
    #expect(text.constant == "sum")
    #expect(sum.dependencies.count == 2)
  }

  @Test func `observers of subclasses of result operations get the result`() async throws {
    let queue = Line("line")
    let ends = AsyncStream.makeStream(of: String.self)
    let text = Text("text")
    let four = Counting(name: "four") { 4 }
    let untyped: AdvancedOperation = four
    // Closures of one statement and of several, a function of any operation, and a variable of the
    // type of any operation.
    text.onFinish { text, _ in ends.continuation.yield((try? text.result?.get()) ?? "none") }
    four.onFinish { four, outcome in
      let value = try? four.result?.get()
      guard let value, outcome.isSuccess else { return }
      ends.continuation.yield("\(value)")
    }
    let report: @Sendable (AdvancedOperation, OperationOutcome) -> Void = { operation, _ in
      ends.continuation.yield(operation.name ?? "none")
    }
    four.onFinish(report)
    untyped.onFinish { operation, outcome in
      guard outcome.isSuccess else { return }
      ends.continuation.yield("untyped \(operation.name ?? "none")")
    }
    queue.addOperations([text, four])
    var seen: [String] = []
    for await end in ends.stream.prefix(4) { seen.append(end) }
    #expect(seen == ["text", "4", "four", "untyped four"])
  }

  @Test func `subclasses of groups, blocks and queues behave like these`() async throws {
    let queue = Lines()
    let importing = Import(rows: 3)
    let batch = Batch(name: "batch", errorPolicy: .failFast) {
      // It has inherited the initialiser without its builder.
      [Five(), Twice {}, Step {}]
    }
    batch.addDependency(importing)
    queue.addOperations([importing, batch])
    try await batch.untilFinished()
    #expect(importing.children.count == 3 && batch.children.count == 3)
    #expect(batch.children.allSatisfy { $0.isFinished })
    #expect(batch.outcome?.isSuccess == true)
  }

  @Test func `subclasses of the plain queue inherit or override both initializers`() async throws {
    let queues = [
      Plain(), Plain(executor: AtOnce()), PlainAgain(), PlainAgain(executor: AtOnce()), Serial(),
      Uploads(host: "example.org"), Downloads(executor: AtOnce()), Downloads(at: 2),
    ]
    let operations = queues.map { queue in
      let operation = BlockOperation {}
      queue.addOperation(operation)
      return operation
    }
    for queue in queues { try await queue.untilAllOperationsAreFinished() }
    #expect(operations.allSatisfy { $0.isFinished })
    #expect(queues.map(\.maxConcurrentOperationCount) == [-1, -1, -1, -1, 1, -1, -1, 2])
    #expect(queues.suffix(2).allSatisfy { $0.name == "downloads" })
  }
}
