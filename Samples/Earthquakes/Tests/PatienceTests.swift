import Synchronization
import Testing

@testable import EarthquakeKit

@Suite struct `Patience with other processes` {
  private let paused = Pauses()

  /// Waits for a lock that never is free.
  private func wait(_ patience: Patience) {
    var attempts = 0
    while patience.pause(after: attempts) { attempts += 1 }
  }

  @Test func `is five seconds each time`() {
    let patience = Patience(pause: paused.add)
    wait(patience)
    #expect(paused.total == .seconds(5))
    wait(patience)
    #expect(paused.total == .seconds(10))
  }

  @Test func `that can be exhausted is five seconds once`() {
    let patience = Patience(isExhaustible: true, pause: paused.add)
    wait(patience)
    wait(patience)
    wait(patience.asLongAs { true })
    #expect(paused.total == .seconds(5))
  }

  @Test func `is not used up by waits that were not in vain`() {
    let patience = Patience(isExhaustible: true, pause: paused.add)
    for _ in 1...100 { #expect(patience.pause(after: 0)) }
    #expect(patience.pause(after: 100))
  }

  @Test func `ends when the result is not wanted any more`() {
    let patience = Patience(pause: paused.add)
    wait(patience.asLongAs { [paused] in paused.count < 3 })
    #expect(paused.count == 3)
    #expect(paused.total == .milliseconds(7))
  }
}
