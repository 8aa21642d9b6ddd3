#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The processes of an attempt: its own one and all that these have started and not put elsewhere.
struct ProcessGroup: Hashable, Sendable {
  /// The process that leads it.
  let leader: Int32
  /// The `WORKFLOW_OUTPUT` of processes that are in the group of the runner, with which they share the
  /// terminal; nil: they have a group of their own.
  let variable: String?

  init(leader: Int32, variable: String? = nil) {
    self.leader = leader
    self.variable = variable
  }

  /// Sends a signal to all of them; nothing happens if there are none.
  func send(_ signal: Int32) {
    if variable == nil { _ = kill(-leader, signal) }
    for member in members { _ = kill(member, signal) }
  }

  /// Whether there are any that haven't ended.
  var isThere: Bool {
    if variable != nil { return !members.isEmpty }
    return (kill(-leader, 0) == 0 || errno == EPERM) && hasLiving
  }

  /// Those that are in the runner's group and haven't ended; where there is no `/proc`, the first one.
  private var members: [Int32] {
    guard let variable else { return [] }
    #if os(Linux)
    return ProcessStatus.processes.filter {
      ProcessStatus.variable("WORKFLOW_OUTPUT", of: $0) == variable
        && ProcessStatus(of: $0)?.hasEnded == false
    }
    #else
    return kill(leader, 0) == 0 ? [leader] : []
    #endif
  }

  /// Whether one of them hasn't ended, or can't be looked at.
  ///
  /// Those that have ended stay until their parent has seen it, and process 1 of a container may
  /// never look.
  private var hasLiving: Bool {
    #if os(Linux)
    let processes = ProcessStatus.processes
    return processes.isEmpty || processes.contains { isLiving($0) }
    #else
    return true
    #endif
  }

  #if os(Linux)
  /// Whether a process is one of the group, and hasn't ended.
  private func isLiving(_ process: Int32) -> Bool {
    guard getpgid(process) == leader, let status = ProcessStatus(of: process) else { return false }
    return !status.hasEnded
  }
  #endif

  /// Ends all of them: asks first, then kills.
  ///
  /// - Parameters:
  ///   - isAsked: Whether they were asked before.
  ///   - gracePeriod: The time between.
  func end(isAsked: Bool = false, gracePeriod: Duration) async {
    if !isAsked {
      send(SIGTERM)
      // What was stopped, with a runner that was killed then, doesn't see that before it goes on.
      send(SIGCONT)
    }
    // Goes on in a task that was cancelled.
    await Task {
      let clock = ContinuousClock()
      let deadline = clock.now + gracePeriod
      var pause = Duration.milliseconds(1)
      while isThere, clock.now < deadline {
        try? await clock.sleep(for: min(pause, deadline - clock.now))
        pause = min(pause * 2, .milliseconds(50))
      }
      send(SIGKILL)
      let end = clock.now + .seconds(1)
      while isThere, clock.now < end { try? await clock.sleep(for: .milliseconds(5)) }
    }.value
  }
}
