import AdvancedOperations
import AdvancedTestSupport
import Testing

@Suite struct `A line of events as a value` {
  private static func names(_ line: EventLine) -> [String] {
    var line = line
    var names: [String] = []
    while let item = line.nextItem() {
      switch item {
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

  @Test func `what was announced and has not come about is taken out`() {
    let (one, other) = (Work("one"), Work("other"))
    for place in 0...2 {
      var line = EventLine()
      for number in 0...2 {
        if number == place { line.append(.produced(one)) }
        line.append(.progress(.init(completedUnitCount: Int64(number), totalUnitCount: 3)))
      }
      line.removeProduced(other)
      line.removeProduced(one)
      #expect(Self.names(line) == ["progress 0", "progress 1", "progress 2"])
    }
  }
}
