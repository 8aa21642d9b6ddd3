import Foundation
import Synchronization

/// Whether the machine gives the processors that it claims to have.
struct CoreProbe: Codable, Sendable {
  /// How many it claims.
  var processors: Int
  /// How much more than one spinning thread so many spinning threads compute; the lesser of two
  /// probes, before and after all else.
  var speedup: Double

  /// Whether measurements of parallel work mean what they say.
  var isTrustworthy: Bool { speedup >= 0.85 * Double(processors) }

  /// Spins alone and together, in turn, and takes the middle.
  static func measure() -> CoreProbe {
    let processors = ProcessInfo.processInfo.activeProcessorCount
    let steps = Kernel.steps(lasting: 0.03)
    let speedups = (0..<5).map { _ in
      let alone = time(threads: 1, steps: steps)
      return Double(processors) * alone / time(threads: processors, steps: steps)
    }
    return CoreProbe(processors: processors, speedup: speedups.sorted()[2])
  }

  private static func time(threads: Int, steps: Int) -> Double {
    let begun = ContinuousClock.now
    DispatchQueue.concurrentPerform(iterations: threads) { _ in Kernel.spin(steps) }
    return (ContinuousClock.now - begun).seconds
  }
}
