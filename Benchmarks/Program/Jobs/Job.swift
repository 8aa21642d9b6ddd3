import Synchronization

/// A graph of tasks, how it is handed over, and what its tasks do.
struct Job: Sendable {
  /// What is handed over: operations one by one, all in one batch, or closures one by one.
  enum Handover: Sendable { case oneByOne, batch, closures }

  var graph: TaskGraph
  var handover = Handover.batch
  /// How many may run at a time; nil for as many as the contestant finds right.
  var limit: Int?
  var body = TaskBody.count
  /// Whether tasks block their threads, which starves pools that don't grow.
  var isBlocking: Bool {
    if case .sleep = body { true } else { false }
  }
}

/// What a task does, besides counting itself.
enum TaskBody: Sendable {
  /// Nothing.
  case count
  /// The same, with its node in the closure's context.
  case countNode
  /// `Kernel.steps` steps of the kernel.
  case spin
  /// So many steps, by node.
  case spinEach([Int32])
  /// Blocks its thread.
  case sleep(Duration)
  /// Looks whether it comes after its predecessors.
  case check(OrderCheck)

  /// The closure for a node; it captures nothing if it can, and so costs nothing to make.
  @inline(__always) func block(_ node: Int) -> @Sendable () -> Void {
    switch self {
    case .count: return { RunCount.add() }
    case .countNode: return { RunCount.add(node < 0 ? 0 : 1) }
    case .spin:
      return {
        Kernel.spin(Kernel.steps.load(ordering: .relaxed))
        RunCount.add()
      }
    case .spinEach(let steps):
      let own = Int(steps[node])
      return {
        Kernel.spin(own)
        RunCount.add()
      }
    case .sleep(let duration):
      return {
        Blocking.sleep(duration)
        RunCount.add()
      }
    case .check(let check): return { check.run(node) }
    }
  }
}
