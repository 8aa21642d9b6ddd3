/// Child tasks in a group; graphs are tasks that await the values of others.
struct TaskGroupContestant: Contestant {
  /// Whether the group throws results away as they come.
  let isDiscarding: Bool

  var name: String { (isDiscarding ? ContestantName.discarding : .taskgroup).title }

  func objection(to job: Job) -> String? {
    if job.isBlocking { return "blocking starves the pool of tasks" }
    if isDiscarding, job.graph.edgeCount > 0 {
      return "its tasks have no values that others could await"
    }
    return job.limit.map { $0 > 1 } == true ? "groups have no limit" : nil
  }

  func run(_ job: Job, clock: inout PhaseClock) {
    let isDiscarding = isDiscarding
    if job.graph.edgeCount > 0 {
      Blocking.run { await Self.runGraph(job) }
    } else if job.limit == 1 {
      Blocking.run { await Self.runOnActor(job, isDiscarding: isDiscarding) }
    } else if isDiscarding {
      Blocking.run {
        await withDiscardingTaskGroup { group in
          for node in 0..<job.graph.count {
            let body = job.body.block(node)
            group.addTask { body() }
          }
        }
      }
    } else {
      Blocking.run {
        await withTaskGroup(of: Void.self) { group in
          for node in 0..<job.graph.count {
            let body = job.body.block(node)
            group.addTask { body() }
          }
          await group.waitForAll()
        }
      }
    }
  }

  private static func runGraph(_ job: Job) async {
    var tasks: [Task<Void, Never>] = []
    tasks.reserveCapacity(job.graph.count)
    for node in 0..<job.graph.count {
      let predecessors = job.graph.predecessors(of: node).map { tasks[Int($0)] }
      let body = job.body.block(node)
      tasks.append(
        Task.detached {
          for predecessor in predecessors { await predecessor.value }
          body()
        }
      )
    }
    for task in tasks { await task.value }
  }

  private static func runOnActor(_ job: Job, isDiscarding: Bool) async {
    let one = OneAtATime()
    if isDiscarding {
      await withDiscardingTaskGroup { group in
        for node in 0..<job.graph.count {
          let body = job.body.block(node)
          group.addTask { await one.run(body) }
        }
      }
    } else {
      await withTaskGroup(of: Void.self) { group in
        for node in 0..<job.graph.count {
          let body = job.body.block(node)
          group.addTask { await one.run(body) }
        }
        await group.waitForAll()
      }
    }
  }
}

private actor OneAtATime {
  func run(_ body: @Sendable () -> Void) { body() }
}
