import AdvancedOperations
import AdvancedOperationsTesting
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

@Suite(.heavy) struct `A long run` {
  /// Counts the instances that are alive.
  private final class Counted: AdvancedOperation, @unchecked Sendable {
    private let live: Live
    init(_ live: Live) {
      self.live = live
      live.add(1)
      super.init()
    }
    deinit { live.add(-1) }
  }

  private final class Live: Sendable {
    private let count = Locked(0)
    var now: Int { count.withLock { $0 } }
    func add(_ change: Int) { count.withLock { $0 += change } }
  }

  /// Resident memory in pages; nil where the system doesn't tell.
  private static var residentPages: Int? {
    guard let file = unsafe fopen("/proc/self/statm", "r") else { return nil }
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard unsafe fgets(&line, 256, file) != nil else { return nil }
    let bytes = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    return fields.count > 1 ? Int(fields[1]) : nil
  }

  /// One round: something of everything, cancelled now and then.
  private static func round(_ seed: UInt64, _ live: Live) {
    let simulation = SimulatedEnvironment(seed: seed)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    var last: AdvancedOperation?
    for number in 0..<50 {
      let operation = Counted(live)
      if number % 3 == 0 { operation.addCondition(MutuallyExclusive("one")) }
      if number % 5 == 0 { operation.addCondition(BlockCondition { number % 10 == 0 }) }
      if number % 7 == 0 { operation.addObserver(TimeoutObserver(.seconds(1))) }
      if let last { operation.addDependency(last) }
      last = number % 11 == 0 ? nil : operation
      if number % 13 == 0 { simulation.addStep("cancel") { operation.cancel() } }
      queue.addOperation(operation)
    }
    queue.addOperation(GroupOperation { (0..<5).map { _ in Counted(live) } })
    simulation.run()
  }

  /// As long as `OPERATIONS_SOAK_SECONDS` says; a moment otherwise.
  @Test func `leaves no instance alive, and its memory doesn't grow`() async throws {
    let seconds = Effort.number("OPERATIONS_SOAK_SECONDS") ?? 1
    let live = Live()
    let (rounds, early, late) = try await offPool {
      let clock = ContinuousClock()
      let begin = clock.now
      var rounds: UInt64 = 0
      // The first quarter warms up what the process keeps.
      func soak(until end: Duration) {
        repeat {
          rounds += 1
          Self.round(rounds, live)
        } while begin.duration(to: clock.now) < end
      }
      soak(until: .seconds(seconds) / 4)
      let early = Self.residentPages
      soak(until: .seconds(seconds))
      return (rounds, early, Self.residentPages)
    }
    #expect(live.now == 0)
    print("soak: \(rounds) rounds, resident pages \(early ?? 0), then \(late ?? 0)")
    // Other tests run in the same process: only a long run says something about memory.
    if seconds >= 10, let early, let late { #expect(late <= early + early / 10) }
  }
}
