import WorkflowDocument

/// What can be said about a run from outside: its state, and the header of its journal.
public struct RunSummary: Sendable, Equatable {
  /// How a run stands.
  public enum State: Sendable, Equatable {
    /// A process runs its steps.
    case running
    /// It has ended; steps of it may have failed.
    case ended(RunEnd)
    /// Its process ended before the run did, so that it can be resumed.
    case interrupted
    /// Its journal can't be read.
    case unreadable(JournalError)
  }

  /// The folder.
  public var folder: RunFolder
  /// How it stands.
  public var state: State
  /// What its journal begins with; nil if it was interrupted before that.
  public var header: JournalHeader?
  /// How many steps have succeeded, or had nothing to do.
  public var doneCount: Int
  /// How long each process took that ran it or went on with it, in their order; nil: of one that has
  /// not come to its end the journal doesn't say.
  public var times: [Duration?] = []
}

extension RunFolder {
  /// Whether a process runs it.
  public var isRunning: Bool { RunLock.isTaken(in: self) }

  /// How the run stands, whichever process runs it.
  public func summary() -> RunSummary {
    // First: a run that ends now has its end in the journal before it gives the lock back.
    let isRunning = isRunning
    do throws(JournalError) {
      let contents = try JournalFile.contents(of: journal)
      var ends: [String: StepEnd] = [:]
      var end: RunEnd?
      // The header stands for the first process.
      var times: [Duration?] = contents == nil ? [] : [nil]
      for record in contents?.records ?? [] {
        switch record {
        case .begun, .started, .attemptFailed, .rollbackStarted, .rollbackFailed: break
        case .resumed:
          end = nil
          times.append(nil)
        case .ended(let step, let stepEnd): ends[step] = stepEnd
        case .rollbackBegun(let step), .rolledBack(let step): ends[step] = nil
        case .runEnded(let runEnd):
          end = runEnd
          times[times.count - 1] = runEnd.duration
        }
      }
      let doneCount = ends.values.count { $0.outcome == .succeeded || $0.outcome == .skipped }
      let state: RunSummary.State =
        if isRunning { .running } else if let end { .ended(end) } else { .interrupted }
      return RunSummary(
        folder: self,
        state: state,
        header: contents?.header,
        doneCount: doneCount,
        times: times
      )
    } catch {
      return RunSummary(folder: self, state: .unreadable(error), header: nil, doneCount: 0)
    }
  }
}
