import CoreOperations
import Dispatch
import Foundation
import Synchronization

/// One operation is added to an idle queue and waited for, again and again.
struct RoundTripWorkload: Workload {
  /// What lies between the end of one and the next: nothing, or long enough for threads to sleep.
  let pause: Duration?
  let ownSizes: [Int]?

  var name: String { pause == nil ? "round-trip" : "round-trip-idle" }
  var title: String {
    pause == nil
      ? "add one, wait for it, at once again" : "add one, wait for it, with pauses (not counted)"
  }

  func lanes(size: Int, contestants: [any Contestant]) -> [Lane] {
    contestants.compactMap { contestant in
      switch contestant {
      case is OurQueue: lane(contestant.name, size, Self.ours())
      case is DispatchContestant: lane(contestant.name, size, Self.dispatch())
      case is FoundationQueue: lane(contestant.name, size, Self.foundation())
      case let group as TaskGroupContestant where !group.isDiscarding:
        lane("Task", size, Self.task())
      default: nil
      }
    }
  }

  private func lane(_ name: String, _ size: Int, _ trip: @escaping @Sendable () -> Void) -> Lane {
    var lane = Lane(name, operations: size) { clock in
      for _ in 0..<size {
        if let pause {
          let begun = ContinuousClock.now
          Blocking.sleep(pause)
          clock.leaveOut(ContinuousClock.now - begun)
        }
        trip()
      }
    }
    lane.isDrawn = false
    return lane
  }

  private static func ours() -> @Sendable () -> Void {
    let queue = CoreOperations.OperationQueue()
    return {
      let operation = CoreOperations.BlockOperation { RunCount.add() }
      queue.addOperation(operation)
      operation.waitUntilFinished()
    }
  }

  private static func foundation() -> @Sendable () -> Void {
    let queue = Foundation.OperationQueue()
    return {
      let operation = Foundation.BlockOperation { RunCount.add() }
      queue.addOperation(operation)
      operation.waitUntilFinished()
    }
  }

  private static func dispatch() -> @Sendable () -> Void {
    let queue = DispatchQueue(label: "benchmark", attributes: .concurrent)
    return {
      let end = DispatchSemaphore(value: 0)
      queue.async {
        RunCount.add()
        end.signal()
      }
      end.wait()
    }
  }

  private static func task() -> @Sendable () -> Void {
    {
      let end = DispatchSemaphore(value: 0)
      Task.detached {
        RunCount.add()
        end.signal()
      }
      end.wait()
    }
  }
}
