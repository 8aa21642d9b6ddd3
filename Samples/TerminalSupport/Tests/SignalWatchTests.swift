import Dispatch
import TerminalSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What becomes of signals; each test in a process of its own, which they would end.
@Suite struct SignalWatchTests {
  @Test func `The first and the second signal are distinguished, and echoes count as the first`()
    async
  {
    await #expect(processExitsWith: .exitCode(7)) {
      let first = DispatchSemaphore(value: 0)
      let watch = SignalWatch([SIGUSR1, SIGUSR2], echo: .seconds(3600)) { signal in
        if signal == SIGUSR1 { first.signal() }
      } onSecond: { _ in
        exit(1)
      }
      kill(getpid(), SIGUSR1)
      first.wait()
      kill(getpid(), SIGUSR2)
      watch.expectsNoFirst()
      exit(7)
    }
  }

  @Test func `An urgent signal isn't an echo of the first one`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let first = DispatchSemaphore(value: 0)
      let watch = SignalWatch([SIGUSR1, SIGUSR2], echo: .seconds(3600), urgent: [SIGUSR2]) { _ in
        first.signal()
      } onSecond: { signal in
        exit(signal == SIGUSR2 ? 7 : 1)
      }
      kill(getpid(), SIGUSR1)
      first.wait()
      kill(getpid(), SIGUSR1)
      kill(getpid(), SIGUSR2)
      withExtendedLifetime(watch) { while true { sleep(1) } }
    }
  }

  @Test func `A signal after the last first one doesn't end the process by itself`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let watch = SignalWatch([SIGUSR1]) { _ in
        exit(1)
      } onSecond: { _ in
        exit(7)
      }
      watch.expectsNoFirst()
      kill(getpid(), SIGUSR1)
      while true { sleep(1) }
    }
  }
}
