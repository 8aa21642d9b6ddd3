import CoreOperations
import TestSupport
import Testing

@Suite struct `A closure behind a lock` {
  /// Each access to a bare closure would wrap it twice, so that one call would overflow the stack.
  @Test func `a stored closure doesn't grow with each access to its lock`() async {
    let answer = await Threads.run(stackSize: 512 * 1_024) {
      let closure = Locked<StoredClosure<@Sendable (Int) -> Int>?>(StoredClosure { $0 + 1 })
      for _ in 0..<200_000 { _ = closure.withLock { $0 } }
      return closure.withLock { $0 }?.call(41)
    }
    #expect(answer == 42)
  }
}
