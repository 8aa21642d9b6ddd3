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
      stuck.seen([sighting(of: object, for: duration(second))], at: .seconds(second)) != [nil]
    }
  }

  private static func sighting(
    of object: Object,
    _ kind: OperationExplanation.Cause.Kind = .executing,
    for duration: Duration? = nil,
    endsInTime: Bool = false
  ) -> StuckCauses.Sighting {
    .init(object: object, kind: kind, duration: duration, endsInTime: endsInTime)
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

  @Test func `a cause that disappeared in between is new`() {
    var stuck = StuckCauses(limit: .seconds(10))
    let object = Object()
    let sighting = Self.sighting(of: object)
    #expect(stuck.seen([sighting], at: .zero) == [nil])
    #expect(stuck.seen([], at: .seconds(9)).isEmpty)
    #expect(stuck.seen([sighting], at: .seconds(10)) == [nil])
    #expect(stuck.seen([sighting], at: .seconds(20)) == [.seconds(10)])
  }

  @Test func `a cause that ends by itself at a known time is never reported`() {
    var stuck = StuckCauses(limit: .seconds(10))
    let delay = Self.sighting(of: Object(), for: .seconds(3_600), endsInTime: true)
    for hour in 0..<3 { #expect(stuck.seen([delay], at: .seconds(3_600 * hour)) == [nil]) }
  }

  @Test func `an operation that executes, and awaits others in between, keeps its age`() {
    var stuck = StuckCauses(limit: .seconds(10))
    let object = Object()
    let times = (0...80).filter { second in
      // In each second time, the operation awaits another one.
      let sightings =
        second.isMultiple(of: 2) ? [Self.sighting(of: object, for: .seconds(second))] : []
      return stuck.seen(sightings, at: .seconds(second)).contains { $0 != nil }
    }
    #expect(times == [10, 20, 40, 80])
  }

  @Test func `another kind of cause of the same object is another cause`() {
    var stuck = StuckCauses(limit: .seconds(10))
    let object = Object()
    #expect(stuck.seen([Self.sighting(of: object, .claim)], at: .zero) == [nil])
    #expect(stuck.seen([Self.sighting(of: object, .executing)], at: .seconds(10)) == [nil])
  }

  @Test func `a deallocated object is neither kept nor taken for another object`() {
    var stuck = StuckCauses(limit: .seconds(10))
    weak var first: Object?
    // An allocator that gives the address again is likely, and none is needed.
    for second in 0..<100 {
      let object = Object()
      first = first ?? object
      #expect(stuck.seen([Self.sighting(of: object)], at: .seconds(second)) == [nil])
    }
    #expect(first == nil)
  }
}
