import CoreOperations
import Testing

@Suite struct `A list of waits as a value` {
  private struct Fading {
    weak let wait: AsyncWait?
    init(_ wait: AsyncWait) { self.wait = wait }
  }

  /// A list of so many waits of tasks, which only the list holds.
  private static func list(_ count: Int) -> (WaitList<Void>, [Fading]) {
    var list = WaitList<Void>()
    let waits = (0..<count).map { _ in
      let wait = AsyncWait()
      list.append(.task(wait))
      return Fading(wait)
    }
    return (list, waits)
  }

  @Test func `a list of waits removes cancelled waits if they are the majority`() {
    var (list, waits) = Self.list(100)
    for number in 0..<99 {
      waits[number].wait?.cancel()
      list.waitCancelled()
      let cancelled = waits.prefix(number + 1).count { $0.wait != nil }
      #expect(cancelled * 2 <= waits.count { $0.wait != nil })
    }
    #expect(!list.isEmpty)
    #expect(waits[99].wait?.hasEnded == false)
  }

  @Test func `a list of waits is empty after all were cancelled`() {
    var (list, waits) = Self.list(10)
    for wait in waits {
      #expect(!list.isEmpty)
      wait.wait?.cancel()
      list.waitCancelled()
    }
    #expect(list.isEmpty && !list.isInUse)
    #expect(waits.allSatisfy { $0.wait == nil })
  }

  @Test func `a list of waits wakes exactly the remaining waits`() {
    let called = Tally()
    var list = WaitList<Void>()
    let waits = (0..<3).map { _ in AsyncWait() }
    for wait in waits { list.append(.task(wait)) }
    list.append(.closure { _ in called.add() })
    waits[1].cancel()
    list.waitCancelled()
    list.wakeAll(())
    #expect(waits.allSatisfy { $0.hasEnded })
    #expect(called.now == 1)
  }
}
