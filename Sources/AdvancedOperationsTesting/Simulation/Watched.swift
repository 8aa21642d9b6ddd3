/// What the watchdog of real time knows of a simulation.
struct Watched {
  /// How many runs have begun.
  var runCount = 0
  /// Whether the watchdog looks at the steps that nothing runs.
  var isEntered = false
  /// Whether it has reported them.
  var hasReported = false
  /// Whether a run was ended because its task was cancelled.
  var wasCancelled = false
  /// Whether the `SimulatedEnvironment` is gone, so that nothing can run it any more.
  var isAbandoned = false
  /// Whether it went when operations, steps or timers were left.
  var hasLostOperations = false
}
