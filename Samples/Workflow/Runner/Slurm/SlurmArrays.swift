/// Gathers the combinations of one step that are ready at the same moment, and submits them as one array.
actor SlurmArrays {
  private struct Key: Hashable {
    var name: String
    var request: SlurmRequest
  }

  private struct Member {
    var work: SlurmAttempt
    var continuation: CheckedContinuation<Bool, any Error>
  }

  /// The least that a cluster takes by default.
  private static let largest = 1000

  private let options: SlurmEngine.Options
  private let commands: SlurmCommands
  private var gathered: [Key: [Member]] = [:]

  init(_ options: SlurmEngine.Options, _ commands: SlurmCommands) {
    self.options = options
    self.commands = commands
  }

  /// Submits an attempt together with those like it that come while it is waited for.
  ///
  /// Other steps don't wait: only combinations of one step have one to wait for.
  ///
  /// - Returns: False: there are too few of them, and nothing was submitted.
  func submit(_ work: SlurmAttempt) async throws -> Bool {
    let key = Key(name: SlurmRequest.arrayName(work.attempt), request: work.request)
    return try await withCheckedThrowingContinuation { continuation in
      gathered[key, default: []].append(Member(work: work, continuation: continuation))
      if gathered[key]?.count == 1 {
        Task {
          try? await Task.sleep(for: options.gathering)
          await submitAll(key)
        }
      } else if gathered[key]?.count == Self.largest {
        Task { await submitAll(key) }
      }
    }
  }

  private func submitAll(_ key: Key) async {
    guard let members = gathered.removeValue(forKey: key) else { return }
    guard members.count >= options.arraysFrom ?? .max else {
      for member in members { member.continuation.resume(returning: false) }
      return
    }
    do {
      try await submit(members.map(\.work), key)
      for member in members { member.continuation.resume(returning: true) }
    } catch {
      for member in members { member.continuation.resume(throwing: error) }
    }
  }

  private func submit(_ works: [SlurmAttempt], _ key: Key) async throws {
    // The first one's, so that nothing else can have it.
    let token = works[0].place.token
    for (index, work) in works.enumerated() {
      try work.place.setArray(token: token, index: index)
      try SlurmPlace.write(
        SlurmScript.text(
          work.attempt,
          folder: work.place.path,
          output: .file(work.attempt.logFile)
        ),
        to: work.place.script
      )
    }
    let arguments =
      key.request.arguments(name: key.name, token: token)
      + ["--parsable", "--no-requeue", "--array=0-\(works.count - 1)", "--output=/dev/null"]
    let script = SlurmScript.array(scripts: works.map(\.place.script))
    let begun = ContinuousClock.now
    var interval = Duration.milliseconds(250)
    while true {
      let result = try await commands.run("sbatch", arguments, input: script)
      if result.code == 0 {
        for work in works { work.setTrouble(nil) }
        return
      }
      let message = SlurmMessage(result.messages)
      guard message.meaning == .unavailable else {
        throw SlurmError.refused(message: message.sentence, request: key.request.description)
      }
      guard begun.duration(to: .now) < options.patience else {
        throw SlurmError.unavailable(message: message.sentence, after: options.patience)
      }
      for work in works {
        work.setTrouble("Slurm's controller, which doesn't answer: \(message.sentence)")
      }
      if works.allSatisfy(\.isStopping) { throw CancellationError() }
      try await Task.sleep(for: interval)
      interval = min(interval * 2, .seconds(5))
    }
  }
}
