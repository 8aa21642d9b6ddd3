/// A promise about speed or memory, and what became of it.
struct Budget: Codable, Sendable {
  enum Verdict: String, Codable, Sendable { case holds, missed, notMeasured }

  var what: String
  var limit: String
  var measured: String
  var verdict: Verdict

  /// A measured number that must not be above a limit.
  init(_ what: String, limit: String, measured: String, holds: Bool) {
    self.what = what
    self.limit = limit
    self.measured = measured
    verdict = holds ? .holds : .missed
  }

  /// A promise that this run cannot judge.
  init(_ what: String, limit: String, notMeasured reason: String = "") {
    self.what = what
    self.limit = limit
    measured = reason
    verdict = .notMeasured
  }

  /// Whether this run has nothing to say about it.
  var isAbsent: Bool { verdict == .notMeasured && measured.isEmpty }
}
