import CoreOperations
import Foundation

/// A long chain that is built, run and released on a thread with a stack of 512 KiB.
enum SmallStackProbe {
  static let stackSize = 512 * 1024

  struct Result: Codable, Sendable {
    var length: Int
    var isSurvived: Bool
  }

  /// Runs it in a process of its own, since it may crash.
  static func measure(length: Int) -> Result {
    Result(length: length, isSurvived: FreshProcess.run("small-stack:\(length)") == "\(length)")
  }

  /// Runs it in this process, and gives how many ran.
  static func run(length: Int) -> String? {
    RunCount.reset()
    let end = DispatchSemaphore(value: 0)
    let thread = Thread {
      var clock = PhaseClock()
      OurQueue().run(Job(graph: .chain(length)), clock: &clock)
      end.signal()
    }
    thread.stackSize = stackSize
    thread.start()
    end.wait()
    return String(RunCount.total)
  }
}
