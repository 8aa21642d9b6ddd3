import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Dispatch
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// Each example is a process of its own, which has no other queues.
@Suite struct `Guide: a program hangs in production` {
  @Test func `the guide shows the report of all operations`() async {
    await #expect(processExitsWith: .success) {
      let print = Lines()
      OperationDiagnostics.startRecording()

      let simulation = SimulatedEnvironment(seed: 1)
      let clock = simulation.environment.clock
      let orders = AdvancedOperationQueue(name: "orders", environment: simulation.environment)
      let backups = AdvancedOperationQueue(name: "backups", environment: simulation.environment)

      let backup = ResultOperation(name: "backup") {}
      backup.addCondition(
        BlockCondition("reachable") { (try? await clock.sleep(for: .seconds(3_600))) != nil }
      )
      let migrate = ResultOperation(name: "migrate") { try await backup.value }
      let stores = (1...10).map { number in ResultOperation(name: "store \(number)") {} }
      for operation in [migrate] + stores { operation.addClaim(MutuallyExclusive("database")) }

      backups.addOperation(backup)
      orders.addOperations([migrate] + stores)
      simulation.advance(by: .seconds(41 * 60))

      print(OperationDiagnostics.report)

      try expectShown(print, in: "HangInProduction")
      simulation.run()
    }
  }

  private struct Logger: Sendable {
    func warning(_ text: String) {}
  }

  @Test func `the guide's calls for a signal and a watch compile`() async {
    await #expect(processExitsWith: .success) {
      let logger = Logger()
      OperationDiagnostics.reportOn(signal: SIGUSR1)
      let watch = OperationDiagnostics.watch(stuckAfter: .seconds(60)) { logger.warning("\($0)") }
      watch.remove()
    }
  }

  @Test func `operations top shows the first lines of a report`() async {
    await #expect(processExitsWith: .success) {
      let (screens, screen) = AsyncStream.makeStream(of: String.self)
      let top = operationsTop(lines: 1) { screen.yield($0) }
      let queue = AdvancedOperationQueue()
      queue.isSuspended = true
      queue.addOperation(AdvancedOperation())
      for await text in screens where text.hasSuffix("1 operation in 1 queue\n… 5 more lines") {
        break
      }
      top.cancel()
    }
  }

  @Test func `code of a test that ends returns in time`() async {
    // In a process of its own, where no other tests delay the operation.
    await #expect(processExitsWith: .success) {
      let work = ResultOperation(name: "work") {}

      try await expectEnd(within: .seconds(60)) {
        let queue = AdvancedOperationQueue(name: "imports")
        queue.addOperation(work)
        try await queue.untilAllOperationsAreFinished()
      }

      precondition(work.isFinished)
    }
  }
}

/// Shows the first lines of a report each second, until the timer is cancelled.
func operationsTop(
  lines: Int = 24,
  write: @escaping @Sendable (String) -> Void = { print($0) }
) -> any DispatchSourceTimer {
  OperationDiagnostics.startRecording()
  // A queue of its own has a thread, even if the program blocks the threads of tasks.
  let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "operations top"))
  timer.setEventHandler {
    let all = OperationDiagnostics.report.split(separator: "\n").map(String.init)
    let isLong = all.count > lines
    let shown = all.prefix(lines) + (isLong ? ["… \(all.count - lines) more lines"] : [])
    // Moves to the top left, and clears the screen.
    write("\u{1B}[H\u{1B}[2J" + shown.joined(separator: "\n"))
  }
  timer.schedule(deadline: .now(), repeating: 1)
  timer.activate()
  return timer
}
