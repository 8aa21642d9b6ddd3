import Testing

@testable import CoreOperations

@Suite struct `The readiness of an operation as a value` {
  typealias Readiness = OperationReadiness

  /// Everything that can be told apart, with 0, 1 and 2 open dependencies.
  static let all: [Readiness] = (UInt32(0)..<3).flatMap { unfinished in
    (UInt32(0)..<16).compactMap { Readiness(rawValue: unfinished | $0 << 28) }
  }

  @Test func `readiness begins outside of any queue without open dependencies`() {
    let readiness = Readiness()
    #expect(readiness.isOutside)
    #expect(!readiness.isHeld)
    #expect(!readiness.isDropped)
    #expect(!readiness.wasReady)
    #expect(readiness.unfinished == 0)
    #expect(readiness.dependenciesAreFinished)
    #expect(readiness.progress == .none)
  }

  @Test(arguments: all)
  func `the readiness progress follows from open dependencies and holds`(readiness: Readiness) {
    let isOpen = readiness.isDropped || readiness.isOutside || readiness.unfinished > 0
    let expected: Readiness.Progress = isOpen ? .none : readiness.isHeld ? .onlyHeld : .ready
    #expect(readiness.progress == expected)
    #expect(
      readiness.dependenciesAreFinished == (readiness.isDropped || readiness.unfinished == 0)
    )
  }

  @Test(arguments: all)
  func `a linked dependency increases the count`(before: Readiness) {
    var readiness = before
    readiness.dependencyAdded()
    #expect(readiness.rawValue == before.rawValue + 1)
  }

  @Test(arguments: all.filter { $0.unfinished > 0 })
  func `a resolved dependency decreases the count and returns the progress`(before: Readiness) {
    var readiness = before
    let progress = readiness.dependencyResolved()
    #expect(readiness.unfinished == before.unfinished - 1)
    #expect(readiness.isOutside == before.isOutside)
    #expect(readiness.isHeld == before.isHeld)
    #expect(readiness.isDropped == before.isDropped)
    #expect(readiness.wasReady == (before.wasReady || progress == .ready))
    #expect(progress == readiness.progress)
  }

  @Test(arguments: all.filter { $0.unfinished > 0 })
  func `a resolved dependency is only counted if others remain`(before: Readiness) {
    var readiness = before
    let wasCounted = readiness.dependencyResolvedUnnoticed()
    #expect(wasCounted == (before.isOutside || before.unfinished > 1))
    #expect(readiness.rawValue == before.rawValue - (wasCounted ? 1 : 0))
  }

  @Test(arguments: all)
  func `a queue that admits an operation updates its readiness`(before: Readiness) {
    var readiness = before
    let progress = readiness.letIn()
    #expect(!readiness.isOutside)
    #expect(readiness.unfinished == before.unfinished)
    #expect(readiness.isHeld == before.isHeld)
    #expect(readiness.isDropped == before.isDropped)
    #expect(readiness.wasReady == (before.wasReady || progress == .ready))
    #expect(progress == readiness.progress)
  }

  @Test(arguments: all)
  func `a hold can be taken and released`(before: Readiness) {
    var readiness = before
    readiness.holdTaken()
    #expect(readiness.isHeld)
    #expect(readiness.progress != .ready)
    let progress = readiness.holdReleased()
    #expect(!readiness.isHeld)
    #expect(progress == readiness.progress)
    #expect(progress != .onlyHeld)
    #expect(readiness.wasReady == (before.wasReady || progress == .ready))
  }

  @Test func `readiness remembers that it was reached`() {
    var readiness = Readiness()
    _ = readiness.letIn()
    readiness.dependencyAdded()
    #expect(readiness.progress == .none)
    #expect(readiness.wasReady)
  }

  @Test(arguments: all)
  func `dropped readiness never makes progress again`(before: Readiness) {
    var readiness = before
    readiness.dropped()
    #expect(readiness.isDropped)
    #expect(readiness.dependenciesAreFinished)
    let answers = [readiness.progress, readiness.letIn(), readiness.holdReleased()]
    #expect(answers == [.none, .none, .none])
    #expect(readiness.unfinished == before.unfinished)
  }

  @Test func `the last open dependency or hold makes an operation ready`() {
    var readiness = Readiness()
    readiness.dependencyAdded()
    readiness.dependencyAdded()
    readiness.holdTaken()
    let answers = [
      readiness.letIn(), readiness.dependencyResolved(), readiness.dependencyResolved(),
      readiness.holdReleased(),
    ]
    #expect(answers == [.none, .none, .onlyHeld, .ready])
  }

  @Test(arguments: all)
  func `every state of readiness survives its raw value`(readiness: Readiness) {
    #expect(Readiness(rawValue: readiness.rawValue) == readiness)
  }
}
