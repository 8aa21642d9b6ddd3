/// The wait of an operation between two attempts or rounds, by the clock of its environment.
///
/// An object, so that an operation without one has a word for it.
final class OperationPause: Sendable {
  enum Reason: Sendable {
    case failedAttempt(Int, [OperationFailure.Element])
    case endedRound(Int)
  }

  let reason: Reason
  let begin: Duration
  let end: Duration
  /// The turn that the operation waits for afterwards; nil where it keeps its slot and its claims.
  let turn: AttemptTurn?

  init(reason: Reason, begin: Duration, end: Duration, turn: AttemptTurn? = nil) {
    self.reason = reason
    self.begin = begin
    self.end = end
    self.turn = turn
  }

  /// The number of the attempt that comes next; nil between two rounds.
  var nextAttempt: Int? {
    switch reason {
    case .failedAttempt(let number, _): number + 1
    case .endedRound: nil
    }
  }

  /// For people: why, and how long still.
  func text(at now: Duration) -> String {
    let rest = max(end.saturatingSubtracting(now), .zero).readable
    switch reason {
    case .failedAttempt(let number, let failures):
      let summary = OperationFailure(elements: failures).summary(limit: 1)
      return "waits: attempt \(number) failed (\(summary)); tries again in \(rest)"
    case .endedRound(let number):
      return "waits: round \(number) has ended; begins the next in \(rest)"
    }
  }
}
