import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite(.watched) struct `How did it end` {
  @Test func `the explanation of a finished operation lists all its errors`() {
    let world = World()
    let download = ResultOperation(name: "download", retry: .constant(.seconds(1)).attempts(2)) {
      () async throws -> Int in throw Flaw(1)
    }
    let parse = download.then(name: "parse") { $0 }
    let skipped = Work("skipped") { $0.skip(reason: "no need") }
    let reasoned = Work("reasoned")
    reasoned.cancel(withError: Flaw(2))
    let plain = Work("plain")
    plain.cancel()
    world.run(download, parse, skipped, reasoned, plain, Work("done"))
    #expect(
      text(parse) == """
        parse has finished without having run: failed
          dependency “download”
            attempt 1: flaw 1
            attempt 2: flaw 1
        """
    )
    #expect(text(skipped) == "skipped has finished: skipped: no need")
    #expect(
      text(reasoned) == "reasoned has finished without having run: cancelled\n  cancelled: flaw 2"
    )
    #expect(text(plain) == "plain has finished without having run: cancelled")
    #expect(
      download.explain().causes.map(\.text)
        == ["has finished: failed: attempt 1: flaw 1; attempt 2: flaw 1"]
    )
    for operation in [download, parse, skipped, reasoned, plain] {
      #expect(kinds(operation) == [.finished])
    }
  }

  @Test func `the explanation of a group lists children that didn't run`() {
    let world = World()
    let failing = Work.failing("failing")
    let waiting = Work("waiting")
    waiting.addDependency(failing)
    let group = GroupOperation(name: "group", errorPolicy: .failFast) {
      failing
      waiting
    }
    world.run(group)
    #expect(
      text(group) == """
        group has finished: failed
          child “failing”
            flaw 1
          1 other did not run
        """
    )
    #expect(
      text(waiting) == """
        waiting has finished without having run: cancelled
          cancelled: “failing”, of the same group, failed.
        """
    )
  }
}
