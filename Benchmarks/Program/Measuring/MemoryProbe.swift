import AdvancedOperations
import CoreOperations
import Foundation

/// What an operation takes of memory, by how much the process grows.
enum MemoryProbe {
  enum Kind: String, CaseIterable, Codable, Sendable {
    case block, advanced, foundation

    var title: String {
      switch self {
      case .block: "BlockOperation"
      case .advanced: "AdvancedOperation"
      case .foundation: "Foundation.BlockOperation"
      }
    }
  }

  enum State: String, CaseIterable, Codable, Sendable {
    /// Made, and in no queue.
    case idle
    /// In a queue, waiting for another operation.
    case queued
    /// Run, and still held by somebody.
    case finished
  }

  /// Bytes per operation, measured in a process of its own.
  struct Result: Codable, Sendable {
    var kind: Kind
    var state: State
    var bytes: Double
  }

  /// All kinds in all states.
  static func all(count: Int, foundation: Bool) -> [Result] {
    Kind.allCases.filter { foundation || $0 != .foundation }.flatMap { kind in
      State.allCases.compactMap { state in
        FreshProcess.run("memory:\(kind.rawValue):\(state.rawValue):\(count)")
          .flatMap { Double($0) }.map { Result(kind: kind, state: state, bytes: $0) }
      }
    }
  }

  /// Bytes per operation in this process, which must not have made any before.
  ///
  /// - Returns: nil where the system doesn't say what a process takes.
  static func measure(_ kind: Kind, _ state: State, count: Int) -> Double? {
    switch kind {
    case .block: measureOurs(state, count) { node in BlockOperation { RunCount.add(node & 1) } }
    case .advanced: measureOurs(state, count) { _ in CountingOperation() }
    case .foundation: measureFoundation(state, count)
    }
  }

  private typealias BlockOperation = CoreOperations.BlockOperation

  private static func measureOurs(
    _ state: State,
    _ count: Int,
    _ make: (Int) -> CoreOperations.Operation
  ) -> Double? {
    let queue = CoreOperations.OperationQueue()
    let gate = make(0)
    warmUp(queue, make)
    queue.isSuspended = state == .queued
    queue.addOperation(gate)
    // The room for the references is taken before, page by page.
    var operations = Array(repeating: gate, count: count)
    guard let before = residentBytes() else { return nil }
    for node in 0..<count {
      let operation = make(node)
      if state == .queued { operation.addDependency(gate) }
      if state != .idle { queue.addOperation(operation) }
      operations[node] = operation
    }
    if state == .finished { queue.waitUntilAllOperationsAreFinished() }
    guard let after = residentBytes() else { return nil }
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    return withExtendedLifetime(operations) { Double(after - before) / Double(count) }
  }

  /// So that the threads and the caches that the first operation needs exist.
  private static func warmUp(
    _ queue: CoreOperations.OperationQueue,
    _ make: (Int) -> CoreOperations.Operation
  ) {
    for node in 0..<100 { queue.addOperation(make(node)) }
    queue.waitUntilAllOperationsAreFinished()
  }

  private static func measureFoundation(_ state: State, _ count: Int) -> Double? {
    func make(_ node: Int) -> Foundation.BlockOperation {
      Foundation.BlockOperation { RunCount.add(node & 1) }
    }
    let queue = Foundation.OperationQueue()
    for node in 0..<100 { queue.addOperation(make(node)) }
    queue.waitUntilAllOperationsAreFinished()
    let gate = make(0)
    queue.isSuspended = state == .queued
    queue.addOperation(gate)
    var operations = Array(repeating: gate, count: count)
    guard let before = residentBytes() else { return nil }
    for node in 0..<count {
      let operation = make(node)
      if state == .queued { operation.addDependency(gate) }
      if state != .idle { queue.addOperation(operation) }
      operations[node] = operation
    }
    if state == .finished { queue.waitUntilAllOperationsAreFinished() }
    guard let after = residentBytes() else { return nil }
    // A fan of Foundation's takes quadratic time; what it waits for is never begun.
    return withExtendedLifetime((operations, queue)) { Double(after - before) / Double(count) }
  }

  /// The memory that the process takes, where the system tells.
  private static func residentBytes() -> Int? {
    #if os(Linux)
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else {
      return nil
    }
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    #else
    return nil
    #endif
  }
}
