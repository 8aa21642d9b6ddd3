import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import CoreOperations
import Testing

@Suite struct `Diagnosis of operations with a journal` {
  private let journal = InMemoryJournal([.init(key: "done", value: 7)])
  private let world = World()

  private func operation(_ key: String) -> ResultOperation<Int> {
    ResultOperation { 1 }.recorded(as: key, in: journal)
  }

  @Test func `the explanation reports the wait for the journal's value`() {
    journal.delay = .seconds(3)
    let build = operation("build")
    build.addCondition(ConditionProbe())
    world.queue.addOperation(build)
    world.simulation.run(until: .seconds(2))
    #expect(kinds(build) == [.journal])
    #expect(
      text(build) == """
        build waits for its journal to look up “build” for 2 s
        needed: the journal of build has to answer
        """
    )
    world.simulation.run()
    #expect(kinds(build) == [.condition])
  }

  @Test func `the explanation reports the wait for the journal's record`() {
    journal.delay = .seconds(3)
    let build = operation("build")
    world.queue.addOperation(build)
    world.simulation.run(until: .seconds(5))
    #expect(kinds(build) == [.journal])
    #expect(
      text(build) == """
        build waits for its journal to record “build”
        needed: the journal of build has to answer
        """
    )
    world.simulation.run()
    #expect(text(build) == "build has finished: succeeded")
  }

  @Test func `log, timeline and explanation say that the value is from the journal`() {
    let lines = Log<String>()
    let recorder = TimelineRecorder()
    let done = operation("done")
    done.addObserver(LogObserver { lines.add($0) })
    done.addObserver(recorder)
    world.run(done)
    #expect(done.description == "done (succeeded, from its journal)")
    #expect(done.debugDescription == "done (succeeded, from its journal)")
    #expect(text(done) == "done has finished: succeeded, with the value from its journal")
    #expect(
      done.explain().causes.map(\.text) == [
        "has finished: succeeded, with the value from its journal"
      ]
    )
    #expect(
      lines.entries == [
        "done: enqueued",
        "done: succeeded without having run, with the value from its journal",
      ]
    )
    let span = recorder.timeline.spans.first
    #expect(span?.started == nil)
    #expect(span?.outcome?.isSuccess == true)
  }

  @Test func `an operation without a recorded value isn't described as from the journal`() {
    let skipped = operation("skipped")
    skipped.addCondition(Immediate(always: .skipped(reason: "no")))
    let failed = operation("failed")
    failed.addCondition(Immediate(always: .failed(Flaw(1))))
    let ran = operation("ran")
    let plain = Work("plain")
    world.run(skipped, failed, ran, plain)
    for operation in [skipped, failed, ran, plain] as [AdvancedOperation] {
      #expect(operation.isFinished)
      #expect(!operation.isFromJournal)
      #expect(!operation.description.contains("journal"))
    }
  }
}
