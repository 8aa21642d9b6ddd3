/// The jobs of this user, asked for once for all of the attempts that want to know.
///
/// A cluster's controller has better things to do than to answer two hundred steps one by one.
actor SlurmQueue {
  private struct Question {
    var begun: ContinuousClock.Instant
    var answer: Task<[SlurmJob], any Error>
  }

  private let ask: @Sendable () async throws -> [SlurmJob]
  private var latest: (begun: ContinuousClock.Instant, jobs: [SlurmJob])?
  private var question: Question?

  /// Asks by that function.
  init(_ ask: @escaping @Sendable () async throws -> [SlurmJob]) { self.ask = ask }

  /// The jobs as they were at an instant, or later.
  ///
  /// A list that was asked for before a job was submitted doesn't say that the job is gone.
  func jobs(notOlderThan instant: ContinuousClock.Instant) async throws -> [SlurmJob] {
    while true {
      if let latest, latest.begun >= instant { return latest.jobs }
      let question = self.question ?? begin()
      let result = await question.answer.result
      // The first that resumes notes the answer.
      if self.question?.begun == question.begun {
        self.question = nil
        if let jobs = try? result.get() { latest = (question.begun, jobs) }
      }
      if question.begun >= instant { return try result.get() }
    }
  }

  private func begin() -> Question {
    let question = Question(begun: .now, answer: Task { [ask] in try await ask() })
    self.question = question
    return question
  }
}
