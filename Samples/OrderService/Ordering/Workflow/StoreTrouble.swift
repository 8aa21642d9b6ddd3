import Synchronization

/// The calls of the store that have failed and are being repeated.
final class StoreTrouble: Sendable {
  private struct State {
    var calls: [Int: String] = [:]
    var last = 0
    var isGivenUp = false
  }

  private let state = Mutex(State())

  /// Why the latest of those calls has failed; nil when none is being repeated.
  var reason: String? {
    state.withLock { state in state.calls.max { $0.key < $1.key }?.value }
  }

  /// Whether nothing that fails is repeated any more.
  var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

  /// The program ends: what fails from now on isn't repeated.
  func giveUp() { state.withLock { $0.isGivenUp = true } }

  /// A call has failed.
  ///
  /// - Parameters:
  ///   - call: Its number; nil when it has failed for the first time.
  ///   - reason: The error.
  /// - Returns: The number of the call.
  func failed(_ call: Int?, because reason: String) -> Int {
    state.withLock { state in
      if call == nil { state.last += 1 }
      let number = call ?? state.last
      state.calls[number] = reason
      return number
    }
  }

  /// A call has succeeded, was refused, or isn't repeated any more.
  func isOver(_ call: Int) { state.withLock { _ = $0.calls.removeValue(forKey: call) } }
}
