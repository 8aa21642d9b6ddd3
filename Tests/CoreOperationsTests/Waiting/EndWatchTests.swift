import CoreOperations
import TestSupport
import Testing

@Suite struct `A watch for the end of an operation` {
  @Test func `an end watch calls its closure once at the end`() {
    let calls = Tally()
    let operation = BlockOperation {}
    let watch = operation.watchEnd { ended in if ended === operation { calls.add() } }
    operation.start()
    watch.remove()
    #expect(calls.now == 1)
  }

  @Test func `an end watch calls its closure immediately for a finished operation`() {
    let calls = Tally()
    let operation = BlockOperation {}
    operation.start()
    let watch = operation.watchEnd { _ in calls.add() }
    watch.remove()
    #expect(calls.now == 1)
  }

  @Test func `a removed end watch leaves nothing behind`() {
    let live = LiveCount()
    let operation = BlockOperation {}
    var watches: [EndWatch] = []
    for _ in 0..<100 {
      let token = Token(live)
      watches.append(operation.watchEnd { _ in token.touch() })
    }
    #expect(operation.hasDependents)
    for (number, watch) in watches.enumerated() {
      watch.remove()
      #expect(live.alive == 99 - number)
    }
    #expect(!operation.hasDependents)
    operation.start()
    #expect(operation.isFinished)
  }

  @Test func `an end watch is called at most once if removal and end race`()
    async
  {
    for _ in 0..<Effort.rounds(500) {
      let calls = Tally()
      let operation = BlockOperation {}
      let watch = operation.watchEnd { _ in calls.add() }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { watch.remove() }
        group.addTask { operation.start() }
      }
      #expect(calls.now <= 1)
      #expect(operation.isFinished)
    }
  }

  // MARK: What uses it

  @Test(arguments: [false, true])
  func `an end watch of an observed operation leaves nothing on its dependencies`(isRun: Bool) {
    let dependency = BlockOperation {}
    do {
      let operation = BlockOperation {}
      operation.addDependency(dependency)
      let observation = operation.observe(\.isReady) { _, _ in }
      #expect(dependency.hasDependents)
      if isRun {
        operation.cancel()
        operation.start()
        #expect(operation.isFinished)
        #expect(!dependency.hasDependents)
      }
      withExtendedLifetime(observation) {}
    }
    #expect(!dependency.hasDependents)
  }
}
