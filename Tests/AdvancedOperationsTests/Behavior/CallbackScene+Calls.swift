import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport

extension CallbackScene {
  private static func call(
    _ name: String,
    _ body: @escaping @Sendable (CallbackScene) -> @Sendable () -> Bool
  ) -> Call { Call(name: name, body: body) }

  /// A call that has no effect to look for.
  private static func look(
    _ name: String,
    _ body: @escaping @Sendable (CallbackScene) -> Void
  ) -> Call {
    Call(name: name) { scene in
      body(scene)
      return { true }
    }
  }

  static let calls = ofOperation + ofGroup + ofQueue

  private static let ofOperation: [Call] = [
    call("cancel()") { scene in
      let isDecided = scene.child.outcome != nil
      scene.child.cancel()
      let isCancelled = scene.child.isCancelled
      return { isDecided ? true : isCancelled && scene.child.kind == .cancelled }
    },
    call("cancel(withError:)") { scene in
      let isDecided = scene.child.outcome != nil
      scene.child.cancel(withError: Flaw(5))
      return { isDecided != scene.child.flawNumbers.contains(5) }
    },
    call("finish()") { scene in
      guard scene.child.state >= .executing else { return { true } }
      scene.child.finish()
      let isDecided = scene.child.outcome != nil
      return { isDecided }
    },
    call("finish(withErrors:)") { scene in
      guard scene.child.state >= .executing else { return { true } }
      let isDecided = scene.child.outcome != nil
      scene.child.finish(withErrors: [Flaw(5), Flaw(6)])
      return { isDecided || scene.child.flawNumbers.suffix(2) == [5, 6] }
    },
    look("status") { scene in
      let child = scene.child
      _ = (child.state, child.errors, child.outcome, child.description, child.debugDescription)
      _ = (child.isReady, child.isExecuting, child.isCancelled, child.isFinished)
      _ = (child.cancellationReason, child.dependencies, child.environment, child.conditionPolicy)
    },
    call("name, priority and quality of service") { scene in
      scene.child.name = "renamed"
      scene.child.queuePriority = .high
      scene.child.qualityOfService = .utility
      scene.child.conditionPolicy = .stopAtFirstFailure
      scene.child.environment = scene.world.simulation.environment
      return { scene.child.name == "renamed" && scene.child.queuePriority == .high }
    },
    call("completionBlock") { scene in
      scene.child.completionBlock = nil
      scene.child.completionBlock = {}
      return { scene.child.completionBlock == nil }
    },
    call("addObserver(_:)") { scene in
      let ends = Counter()
      scene.child.addObserver(BlockObserver(didFinish: { _, _ in ends.add() }))
      scene.child.onFinish { _, _ in ends.add() }
      let removed = scene.child.onFinish { _, _ in ends.add(100) }
      let isFinished = scene.child.isFinished
      removed.remove()
      return { ends.count == (isFinished ? 102 : 2) }
    },
    call("onStart(_:) and onCancel(_:)") { scene in
      let starts = Counter()
      scene.child.onStart { _ in starts.add() }
      scene.child.onCancel { _, _ in starts.add() }
      return { starts.count <= 2 }
    },
    call("events") { scene in
      let events = scene.child.events
      let last = Changing(false)
      Task(executorPreference: scene.world.simulation.environment.executor as? any TaskExecutor) {
        for await event in events { if case .finished = event { last.value = true } }
      }
      return { last.value }
    },
    call("produce(_:)") { scene in
      let produced = Work("more")
      let isIn = (try? scene.child.produce(produced)) != nil
      return { produced.isFinished == isIn }
    },
    look("updateProgress(completed:total:)") { scene in
      scene.child.updateProgress(completed: 2, total: 2)
    },
    call("addDependency(_:)") { scene in
      let other = Work("other")
      let state = scene.child.state
      scene.child.addDependency(other)
      scene.child.addDependency(other)
      // Behind the barrier it would wait for those that wait for it.
      scene.world.makeQueue().addOperation(other)
      return { other.isFinished && (state >= .executing || other.didExecute) }
    },
    call("removeDependency(_:)") { scene in
      let other = Work("other")
      scene.child.addDependency(other)
      scene.child.removeDependency(other)
      return { scene.child.dependencies.isEmpty }
    },
  ]

  private static let ofGroup: [Call] = [
    call("group: cancel(withError:)") { scene in
      let isDecided = scene.group.outcome != nil
      scene.group.cancel(withError: Flaw(5))
      return { isDecided || scene.group.kind == .cancelled && scene.group.flawNumbers.contains(5) }
    },
    call("group: addOperation(_:)") { scene in
      let late = Work("late")
      let isInTime = scene.group.addOperation(late)
      return { late.isFinished == isInTime && scene.group.children.contains(late) == isInTime }
    },
    call("group: finish()") { scene in
      guard scene.group.state >= .executing else { return { true } }
      scene.group.finish()
      let isDecided = scene.group.outcome != nil
      return { isDecided }
    },
    call("group: hooks") { scene in
      let undone = Counter()
      scene.group.mapChildErrors { _, error in error }
      scene.group.onRollback { undone.add() }
      return { undone.count <= 1 && (scene.group.kind != .succeeded || undone.count == 0) }
    },
    look("group: status") { scene in
      _ = (scene.group.children, scene.group.progress, scene.group.description)
    },
    call("retry and repeat: cancel()") { scene in
      let both: [AdvancedOperation] = [scene.retrying, scene.repeating]
      let open = both.filter { $0.outcome == nil }
      for operation in open { operation.cancel() }
      scene.repeating.mapRoundErrors { _, error in error }
      return { open.allSatisfy { $0.kind == .cancelled } }
    },
  ]

  private static let ofQueue: [Call] = [
    call("queue: addOperation(_:)") { scene in
      let (work, runs) = (Work("more"), Counter())
      scene.world.queue.addOperation(work)
      scene.world.queue.addOperation { runs.add() }
      scene.world.queue.addOperation { () async -> Void in runs.add() }
      return { work.didExecute && runs.count == 2 }
    },
    call("queue: addOperations(_:)") { scene in
      let works = [Work("a"), Work("b")]
      works[0].addDependency(works[1])
      scene.world.queue.addOperations(works)
      return { works.allSatisfy(\.didExecute) }
    },
    call("queue: addBarrierBlock(_:)") { scene in
      let runs = Counter()
      scene.world.queue.addBarrierBlock { runs.add() }
      return { runs.count == 1 }
    },
    call("queue: cancelAllOperations()") { scene in
      let open = scene.world.queue.operations.compactMap { $0 as? AdvancedOperation }
        .filter { $0.outcome == nil }
      scene.world.queue.cancelAllOperations()
      return { open.allSatisfy { $0.kind == .cancelled } }
    },
    call("queue: cancelAllOperations(withError:)") { scene in
      let open = scene.world.queue.operations.compactMap { $0 as? AdvancedOperation }
        .filter { $0.outcome == nil }
      scene.world.queue.cancelAllOperations(withError: Flaw(5))
      return { open.allSatisfy { $0.kind == .cancelled && $0.flawNumbers.contains(5) } }
    },
    call("queue: isSuspended and limit") { scene in
      let queue = scene.world.queue
      queue.isSuspended = true
      queue.maxConcurrentOperationCount = 0
      queue.maxConcurrentOperationCount = 1
      queue.isSuspended = false
      return { !queue.isSuspended && queue.maxConcurrentOperationCount == 1 }
    },
    call("queue: settings") { scene in
      let queue = scene.world.queue
      queue.name = "renamed"
      queue.qualityOfService = .utility
      queue.delegate = nil
      queue.progress.totalUnitCount = 7
      queue.progress.resetTotalUnitCount()
      _ = (queue.operations, queue.operationCount, queue.progress.fractionCompleted)
      _ = (queue.environment, queue.underlyingQueue, OperationQueue.current)
      return { queue.name == "renamed" && queue.delegate == nil }
    },
  ]
}
