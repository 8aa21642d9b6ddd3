import AdvancedOperations
import Testing

@Suite struct `A line of events as a value` {
  private static func names(_ line: EventLine) -> [String] {
    var line = line
    var names: [String] = []
    while let item = line.nextItem() {
      switch item {
      case .launch: names.append("launch")
      case .cancelled: names.append("cancelled")
      case .progress(let progress): names.append("progress \(progress.completedUnitCount)")
      case .enqueued, .started, .produced, .retrying, .leave, .willFinish, .didFinish, .lateFinish:
        names.append("other")
      }
    }
    return names
  }

  @Test func `gives what was added in that order`() {
    var line = EventLine()
    for number in 1...3 as ClosedRange<Int64> {
      line.append(.progress(OperationProgressUpdate(completedUnitCount: number, totalUnitCount: 3)))
    }
    #expect(Self.names(line) == ["progress 1", "progress 2", "progress 3"])
  }

  @Test func `a launch comes after all that came behind it meanwhile`() {
    var line = EventLine()
    line.append(.launch)
    line.append(.progress(OperationProgressUpdate(completedUnitCount: 1, totalUnitCount: 2)))
    line.append(.cancelled([], callsHook: false))
    #expect(Self.names(line) == ["progress 1", "cancelled", "launch"])
  }
}
