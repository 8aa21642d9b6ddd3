#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What one run took, divided by the number of runs that were made in a row.
struct Sample: Sendable {
  var phases = PhaseTimes()
  /// Seconds of all processors.
  var cpu = 0.0
  /// How often a thread went to sleep.
  var voluntarySwitches = 0.0

  var wall: Double { phases.wall }
}

extension Lane {
  /// Runs so many times in a row, sees whether all bodies ran, and says what one run took.
  func measure(repeats: Int = 1) throws -> Sample {
    RunCount.reset()
    let before = ResourceUse.current
    var phases = PhaseTimes()
    for _ in 0..<repeats {
      var clock = PhaseClock()
      try run(&clock)
      phases += clock.times(until: .now)
    }
    let used = ResourceUse.current - before
    if let expectedRuns, RunCount.total != expectedRuns * repeats {
      throw WrongResult(
        description: "\(name): \(RunCount.total) bodies ran instead of \(expectedRuns * repeats)"
      )
    }
    let part = 1 / Double(repeats)
    return Sample(
      phases: PhaseTimes(
        wall: phases.wall * part,
        build: phases.build * part,
        release: phases.release * part
      ),
      cpu: used.cpu * part,
      voluntarySwitches: used.voluntarySwitches * part
    )
  }
}

/// What the process has used so far.
struct ResourceUse: Sendable {
  var cpu: Double
  var voluntarySwitches: Double

  static var current: ResourceUse {
    var usage = rusage()
    #if canImport(Glibc)
    // There it is a constant of an enumeration, which the function doesn't take.
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
    getrusage(RUSAGE_SELF, &usage)
    #endif
    return ResourceUse(
      cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
      voluntarySwitches: Double(usage.ru_nvcsw)
    )
  }

  private static func seconds(_ time: timeval) -> Double {
    Double(time.tv_sec) + Double(time.tv_usec) * 1e-6
  }

  static func - (now: ResourceUse, before: ResourceUse) -> ResourceUse {
    ResourceUse(
      cpu: now.cpu - before.cpu,
      voluntarySwitches: now.voluntarySwitches - before.voluntarySwitches
    )
  }
}
