import CoreOperations
import Dispatch

extension CoreStress {
  /// What one run finds wrong, and what it counts.
  final class Findings: Sendable {
    private let complaints = Locked<[String]>([])
    let live = Live()

    var violations: [String] { complaints.withLock { $0 } }

    func complain(_ text: String) { complaints.withLock { $0.append(text) } }
  }

  /// One queue of a run, with what is known of it.
  final class Lane: Sendable {
    let queue: OperationQueue
    let running = Tally()
    let barriersRun = Tally()
    let allowed: Int

    init(_ executor: (any OperationExecutor)?, allowed: Int) {
      queue = executor.map { OperationQueue(executor: $0) } ?? OperationQueue()
      self.allowed = allowed
      queue.maxConcurrentOperationCount = allowed
    }
  }

  /// What the nodes of a run look like to it.
  protocol Node: Operation {
    var report: NodeReport { get }
    /// Turns on what kept it from being ready.
    func release()
  }

  /// Checks on one operation.
  final class NodeReport: Sendable {
    let number: Int
    let lane: Lane
    let log: Findings
    /// Dependencies that nobody removes.
    private let fixed = Locked<[Operation]>([])
    let bodies = Tally()
    let completions = Tally()

    init(_ number: Int, _ lane: Lane, _ log: Findings) {
      self.number = number
      self.lane = lane
      self.log = log
      log.live.born()
    }

    deinit { log.live.died() }

    func fix(_ operation: Operation) { fixed.withLock { $0.append(operation) } }

    func entered() {
      bodies.add()
      lane.running.add()
      if bodies.now > 1 { log.complain("\(number) ran twice") }
      if lane.running.now > lane.allowed { log.complain("\(number) ran beyond the limit") }
      for dependency in fixed.withLock({ $0 }) where !dependency.isFinished {
        log.complain("\(number) ran before \(dependency.label)")
      }
      if OperationQueue.current !== lane.queue { log.complain("\(number) ran in no queue") }
    }

    func left() { lane.running.add(-1) }

    /// Forgets the dependencies, which would keep the graph alive otherwise.
    func forget() { fixed.withLock { $0 = [] } }
  }

  /// A body that returns when it is done.
  final class Plain: Operation, Node, @unchecked Sendable {
    let report: NodeReport
    init(_ report: NodeReport) {
      self.report = report
      super.init()
      name = "\(report.number)"
    }
    func release() {}
    override func main() {
      report.entered()
      if report.number.isMultiple(of: 17) { CoreStress.linger(report.number) }
      report.left()
    }
  }

  /// Ends on another thread, and also in `cancel()` if it is that kind.
  final class Apart: Operation, Node, @unchecked Sendable {
    private struct State {
      var isExecuting = false
      var isFinished = false
    }

    let report: NodeReport
    private let endsInCancel: Bool
    private let own = Locked(State())

    init(_ report: NodeReport, endsInCancel: Bool) {
      self.report = report
      self.endsInCancel = endsInCancel
      super.init()
      name = "\(report.number)"
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { own.withLock { $0.isExecuting } }
    override var isFinished: Bool { own.withLock { $0.isFinished } }

    func release() {}

    override func start() {
      if isCancelled {
        end()
        return
      }
      let isFirst = own.withLock { state in
        if state.isFinished { return false }
        state.isExecuting = true
        return true
      }
      guard isFirst else { return }
      report.entered()
      DispatchQueue.global().async { self.end() }
    }

    override func cancel() {
      super.cancel()
      if endsInCancel { end() }
    }

    private func end() {
      own.withLock { state in
        // Before anybody can see that it has finished: who looks by itself gives its slot away.
        if state.isExecuting { report.left() }
        state.isExecuting = false
        state.isFinished = true
      }
      didChangeValue(forKey: "isFinished")
    }
  }

  /// Not ready before it is released.
  final class Held: Operation, Node, @unchecked Sendable {
    let report: NodeReport
    private let isReleased = Locked(false)

    init(_ report: NodeReport) {
      self.report = report
      super.init()
      name = "\(report.number)"
    }

    override var isReady: Bool { isReleased.withLock { $0 } && super.isReady }

    func release() {
      isReleased.withLock { $0 = true }
      didChangeValue(forKey: "isReady")
    }

    override func main() {
      report.entered()
      report.left()
    }
  }

  /// Several blocks in one slot.
  final class Blocks: BlockOperation, Node, @unchecked Sendable {
    let report: NodeReport
    private let entries = Tally()

    init(_ report: NodeReport, count: Int) {
      self.report = report
      super.init()
      name = "\(report.number)"
      for _ in 0..<count { addExecutionBlock { [entries] in entries.add() } }
    }

    func release() {}

    override func main() {
      let count = executionBlocks.count
      report.entered()
      super.main()
      report.left()
      if entries.now != count { report.log.complain("\(report.number) lost a block") }
    }
  }

  private static func linger(_ number: Int) {
    for _ in 0..<(number % 500) { _ = OperationQueue.current }
  }
}
