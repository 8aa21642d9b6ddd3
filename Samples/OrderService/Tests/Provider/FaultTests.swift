import Foundation
import Testing

@testable import PaymentProviderServer

/// Which requests go wrong.
@Suite struct FaultTests {
  private func faults(_ count: Int, canLie: Bool = true, _ change: (inout Mood) -> Void) -> [Fault]
  {
    var (mood, die) = (Mood(), FaultDie(seed: 7))
    change(&mood)
    return (0..<count).map { _ in die.fault(mood, canLie: canLie, now: .zero) }
  }

  @Test func `Nothing goes wrong as usual`() {
    #expect(faults(100) { _ in } == Array(repeating: .none, count: 100))
  }

  @Test func `As many requests go wrong as the mood says`() {
    for (path, fault) in [(\Mood.fail, Fault.fails), (\.lie, .lies), (\.lose, .losesAnswer)] {
      let faults = faults(10_000) { $0[keyPath: path] = 0.3 }
      let count = faults.count { $0 == fault }
      // Five standard deviations, and the seed is the same each time.
      #expect((2_770...3_230).contains(count))
      #expect(faults.allSatisfy { $0 == fault || $0 == .none })
    }
  }

  @Test func `Reading has nothing to lie about`() {
    #expect(!faults(100, canLie: false) { $0.lie = 1 }.contains(.lies))
  }

  @Test func `Of several faults the one decides that does least`() {
    #expect(faults(1) { ($0.fail, $0.lie, $0.lose) = (1, 1, 1) } == [.fails])
    #expect(faults(1) { ($0.fail, $0.isDown) = (1, true) } == [.isDown])
    #expect(faults(1) { ($0.lie, $0.lose) = (1, 1) } == [.lies])
  }

  @Test func `Another fault doesn't change which requests fail`() {
    let alone = faults(1_000) { $0.fail = 0.3 }
    let both = faults(1_000) { ($0.fail, $0.lose) = (0.3, 0.5) }
    #expect(alone.indices.allSatisfy { (alone[$0] == .fails) == (both[$0] == .fails) })
  }

  @Test func `As many requests of a second are answered as the rate says`() {
    var (mood, die) = (Mood(), FaultDie(seed: 1))
    mood.rate = 4
    func answered(at time: Duration, of count: Int) -> Int {
      (0..<count).count { _ in die.fault(mood, canLie: true, now: time) == .none }
    }
    #expect(answered(at: .seconds(10), of: 10) == 4)
    #expect(answered(at: .milliseconds(10_250), of: 10) == 1)
    #expect(answered(at: .seconds(20), of: 10) == 4)
  }

  @Test func `A mood is read, with all that is wrong with it`() throws {
    func reading(_ text: String) throws -> Mood.Reading {
      try JSONDecoder().decode(Mood.Reading.self, from: Data(text.utf8))
    }
    let good = try reading(
      #"{"fail": 0.3, "slow": "2s", "lie": 0.1, "lose": 1, "down": true, "rate": 5}"#
    )
    var mood = Mood()
    (mood.fail, mood.lie, mood.lose, mood.slow) = (0.3, 0.1, 1, .seconds(2))
    (mood.isDown, mood.rate) = (true, 5)
    #expect(good.mood == mood && good.mistakes.isEmpty)
    #expect(try reading(#"{"rate": null}"#).mistakes.isEmpty)
    let bad = try reading(
      #"{"fail": 1.1, "slow": 2, "lie": "x", "lose": -1, "down": 1, "rate": 0, "moody": 1}"#
    )
    #expect(bad.mistakes.count == 7)
    #expect(bad.mistakes.contains { $0.contains("moody") })
  }

  @Test func `A mood that was written is read as the same`() throws {
    var mood = Mood()
    (mood.fail, mood.slow, mood.rate) = (0.25, .milliseconds(150), 3)
    let data = try JSONEncoder().encode(mood)
    #expect(try JSONDecoder().decode(Mood.Reading.self, from: data).mood == mood)
  }
}
