import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations

/// What examples call as `print`; keeps the lines.
final class Lines: Sendable {
  private let kept = Locked<[String]>([])

  var all: [String] { kept.withLock { $0 } }

  func callAsFunction(_ values: Any...) {
    let line = values.map { "\($0)" }.joined(separator: " ")
    kept.withLock { $0.append(line) }
  }
}

/// Where the examples download from: fails a few times, then gives three events.
final class FeedServer: Sendable {
  private let failuresLeft: Locked<Int>

  init(failures: Int = 0) { failuresLeft = Locked(failures) }

  func download() async throws -> String {
    let fails = failuresLeft.withLock { left in
      left -= 1
      return left >= 0
    }
    if fails { throw Offline() }
    return "Chile 1960\nAlaska 1964\nSumatra 2004"
  }
}

struct Offline: Error, CustomStringConvertible {
  let description = "The connection was lost."
}

/// What comes out of parsing: an event a line.
struct Feed: Sendable {
  struct Empty: Error {}

  let events: [String]

  init(_ text: String) throws {
    if text.isEmpty { throw Empty() }
    events = text.split(separator: "\n").map(String.init)
  }
}

/// Saves, and says how many events there were.
struct Database: Sendable {
  func save(_ text: String) async throws -> Int { try Feed(text).events.count }
}

/// Something that has to be asked asynchronously, and answers yes or no.
struct Answer: Sendable {
  private let isYes: Bool

  init(_ isYes: Bool) { self.isYes = isYes }

  var isReachable: Bool { get async { isYes } }
  var isGiven: Bool { get async { isYes } }
  var isDown: Bool { get async { isYes } }
  var answer: Bool { get async { isYes } }
}

/// Runs operations in a world of their own until nothing can happen any more.
@discardableResult
func simulate(_ operations: Operation...) -> SimulatedEnvironment {
  let simulation = SimulatedEnvironment(seed: 1)
  AdvancedOperationQueue(environment: simulation.environment).addOperations(operations)
  simulation.run()
  return simulation
}

extension AdvancedOperation {
  /// The outcome as text.
  var ending: String { outcome.map { "\($0)" } ?? "none" }
}
