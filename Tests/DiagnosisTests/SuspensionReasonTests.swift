import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import CoreOperations
import Testing

/// The reason of a suspended queue, and the reason of a closed gate, wherever they are shown.
@Suite(.watched) struct `Reasons of waits` {
  @Test func `explanations show the reason of a suspension until the queue resumes`() {
    let world = World()
    world.queue.name = "uploads"
    world.queue.suspend(reason: "the disk is full")
    #expect(world.queue.isSuspended)
    let work = Work("work")
    let plain = BlockOperation { _ = 1 }
    world.run(work, plain)
    #expect(!work.didExecute)
    #expect(
      "\(work.explain())" == """
        work waits for queue “uploads” to be resumed: the disk is full
        needed: queue “uploads” has to be resumed
        """
    )
    #expect("\(world.queue.explain())".hasPrefix("queue “uploads” (suspended: the disk is full)"))
    #expect(plain.waitCauses.map(\.description).first?.hasSuffix(": the disk is full") == true)
    // The first reason stays, unless another one is passed.
    world.queue.isSuspended = true
    #expect(world.queue.suspensionReason == "the disk is full")
    world.queue.suspend(reason: "maintenance")
    #expect(world.queue.suspensionReason == "maintenance")
    world.queue.isSuspended = false
    #expect(world.queue.suspensionReason == nil)
    world.simulation.run()
    #expect(work.kind == .succeeded)
    world.queue.isSuspended = true
    #expect(world.queue.suspensionReason == nil)
    world.queue.isSuspended = false
  }

  @Test func `the main queue has no suspension`() {
    OperationQueue.main.suspend(reason: "never")
    #expect(!OperationQueue.main.isSuspended)
    #expect(OperationQueue.main.suspensionReason == nil)
  }

  @Test func `graphs and timelines show both reasons`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let gate = Gate("network", isOpen: false)
    gate.close(reason: "offline")
    let upload = Work("upload")
    upload.addCondition(gate)
    world.run(upload)
    world.queue.suspend(reason: "maintenance")
    let later = Work("later")
    world.run(later)
    let reasons = ["waits for gate “network”: offline", "suspended: maintenance"]
    let graph = world.queue.graph
    #expect(graph.nodes.map(\.waitReason) == reasons)
    #expect(graph.dot().contains("evaluating conditions\\nwaits for gate “network”: offline"))
    #expect(graph.mermaid().contains("ready<br/>suspended"))
    let timeline = recorder.timeline
    #expect(timeline.spans.map(\.waitReason) == reasons)
    for reason in reasons {
      #expect(graph.svg().contains(reason))
      #expect(timeline.svg().contains(reason))
    }
    gate.open()
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(recorder.timeline.spans.map(\.waitReason) == [nil, nil])
    #expect(OperationGraph(of: [upload, later]).nodes.map(\.waitReason) == [nil, nil])
  }
}
