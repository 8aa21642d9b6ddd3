import Testing

@testable import AdvancedOperations

/// The decision of a watch, at virtual times.
@Suite struct `The causes that a watch reports` {
  private final class Object {}

  /// The times at which a cause is reported that is seen each second.
  private static func reports(
    limit: Int,
    seconds: ClosedRange<Int>,
    duration: (Int) -> Duration? = { _ in nil }
  ) -> [Int] {
    var stuck = StuckCauses(limit: .seconds(limit))
    let object = Object()
    return seconds.filter { second in
      let sighting = StuckCauses.Sighting(
        object: object,
        kind: .executing,
        duration: duration(second)
      )
      return stuck.seen([sighting], at: .seconds(second)) == [true]
    }
  }

  @Test func `a cause that lasts for 64 times the limit is reported seven times`() {
    #expect(Self.reports(limit: 10, seconds: 0...640) == [10, 20, 40, 80, 160, 320, 640])
  }

  @Test func `the age is counted from the first look if no duration is known`() {
    #expect(Self.reports(limit: 10, seconds: 1_000...1_030) == [1_010, 1_020])
  }

  @Test func `a known duration is the age, and a missed age isn't made up for`() {
    #expect(Self.reports(limit: 10, seconds: 5...50) { .seconds($0 + 40) } == [5, 40])
  }

  @Test func `a wait that began again has a new age`() {
    // A retry each 12 s; and one each 8 s, which is never stuck.
    #expect(Self.reports(limit: 10, seconds: 0...35) { .seconds($0 % 12) } == [10, 22, 34])
    #expect(Self.reports(limit: 10, seconds: 0...100) { .seconds($0 % 8) }.isEmpty)
  }

  @Test func `a cause that was gone in between is new`() {
    var stuck = StuckCauses(limit: .seconds(10))
    let object = Object()
    let sighting = StuckCauses.Sighting(object: object, kind: .claim, duration: nil)
    #expect(stuck.seen([sighting], at: .zero) == [false])
    #expect(stuck.seen([], at: .seconds(9)).isEmpty)
    #expect(stuck.seen([sighting], at: .seconds(10)) == [false])
    #expect(stuck.seen([sighting], at: .seconds(20)) == [true])
  }

  @Test func `another kind of cause of the same object is another cause`() {
    var stuck = StuckCauses(limit: .seconds(10))
    let object = Object()
    func sighting(_ kind: OperationExplanation.Cause.Kind) -> StuckCauses.Sighting {
      StuckCauses.Sighting(object: object, kind: kind, duration: nil)
    }
    #expect(stuck.seen([sighting(.claim)], at: .zero) == [false])
    #expect(stuck.seen([sighting(.executing)], at: .seconds(10)) == [false])
  }

  @Test func `an object that is gone is neither kept nor taken for another one`() {
    var stuck = StuckCauses(limit: .seconds(10))
    weak var first: Object?
    // An allocator that gives the address again is likely, and none is needed.
    for second in 0..<100 {
      let object = Object()
      first = first ?? object
      let sighting = StuckCauses.Sighting(object: object, kind: .executing, duration: nil)
      #expect(stuck.seen([sighting], at: .seconds(second)) == [false])
    }
    #expect(first == nil)
  }
}
