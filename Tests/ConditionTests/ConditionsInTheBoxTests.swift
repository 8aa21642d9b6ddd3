import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `The conditions in the box` {
  private let operation = Work("asker")

  @Test func `a block condition that returns true is satisfied`() async {
    let result = await evaluate(BlockCondition("block") { true }, for: operation)
    #expect(result.isSatisfied)
  }

  @Test func `a block condition fails if it returns false or throws`() async {
    let no = await evaluate(BlockCondition { false }, for: operation)
    #expect(no.errors.first is BlockCondition.NotSatisfied)
    let thrown = await evaluate(BlockCondition { throw Flaw(3) }, for: operation)
    #expect(flaws(thrown.errors) == [3])
  }

  @Test func `a block condition with a result receives its operation and may skip it`() async {
    let named = BlockCondition("named") { operation in
      operation.name == "asker" ? .skipped(reason: "seen") : .satisfied
    }
    guard case .skipped(let reason) = await evaluate(named, for: operation) else {
      Issue.record("it skips")
      return
    }
    #expect(reason == "seen")
    #expect(named.name == "named")
    let failing = BlockCondition { _ in .failed(Flaw(1)) }
    #expect(flaws(await evaluate(failing, for: operation).errors) == [1])
    let throwing = BlockCondition { operation in
      if operation.name != nil { throw Flaw(2) }
      return .satisfied
    }
    #expect(flaws(await evaluate(throwing, for: operation).errors) == [2])
    #expect(await evaluate(BlockCondition { _ in .satisfied }, for: operation).isSatisfied)
  }

  @Test func `a condition has its given name or the name of its type`() {
    struct Weather: ImmediateCondition {
      func check(_ operation: AdvancedOperation) -> OperationConditionResult { .satisfied }
    }
    #expect(Weather().name == "Weather")
    #expect(BlockCondition("weather") { true }.name == "weather")
    #expect(BlockCondition { true }.name == "BlockCondition")
    #expect(NoFailedDependencies().name == "no dependency failed")
    #expect(NoCancelledDependencies().name == "no dependency was cancelled")
    #expect(NegatedCondition(Immediate("rain")).name == "not rain")
    #expect(FileExists("/").name == "file exists")
    #expect(FreeSpace(atLeast: 1, at: "/").name == "free space")
  }

  @Test(arguments: [false, true])
  func `a negated condition swaps failed and satisfied and keeps skipped`(
    isImmediate: Bool
  ) async {
    func negated(_ result: OperationConditionResult) async -> OperationConditionResult {
      let inner: any OperationCondition =
        isImmediate ? Immediate("inner", always: result) : Asked("inner") { _ in result }
      #expect((NegatedCondition(inner).immediateResult(for: operation) != nil) == isImmediate)
      return await evaluate(NegatedCondition(inner), for: operation)
    }
    let ofSatisfied = await negated(.satisfied)
    #expect(ofSatisfied.errors.first as? NegatedCondition.Held == .init(condition: "inner"))
    #expect(await negated(.failed(Flaw(1))).isSatisfied)
    guard case .skipped(let reason) = await negated(.skipped(reason: "no need")) else {
      Issue.record("a skip is no failure")
      return
    }
    #expect(reason == "no need")
  }

  @Test func `an existing file satisfies FileExists`() async {
    #expect(await evaluate(FileExists("/"), for: operation).isSatisfied)
    #expect(await evaluate(FileExists("/", isReadable: true), for: operation).isSatisfied)
  }

  @Test func `a missing file fails FileExists with its path`() async {
    let path = "/no-such-folder-of-tests/file"
    let result = await evaluate(FileExists(path), for: operation)
    #expect(result.errors.first as? FileExists.Problem == .missing(path: path))
  }

  @Test func `a missing folder is reported as a folder`() async {
    let result = await evaluate(FileExists("/no-such-folder", kind: .folder), for: operation)
    #expect(
      result.errors.first as? FileExists.Problem
        == .missing(path: "/no-such-folder", needed: .folder)
    )
    #expect(result.errors.map { "\($0)" } == ["There is no folder at /no-such-folder."])
  }

  @Test func `a file in place of a folder fails FileExists and vice versa`() async {
    for kind in FileExists.Kind.allCases {
      let result = await evaluate(FileExists("/", kind: kind), for: operation)
      #expect(result.isSatisfied == (kind != .file))
      if kind == .file {
        #expect(
          result.errors.first as? FileExists.Problem == .wrongKind(path: "/", needed: .file)
        )
      }
      let program = await evaluate(FileExists("/bin/sh", kind: kind), for: operation)
      #expect(program.isSatisfied == (kind != .folder))
    }
    #expect(FileExists("/", kind: .folder).name == "folder exists")
    #expect(FileExists("/", kind: .file).name == "file exists")
  }

  @Test func `free space is described in large units and exactly`() {
    func text(_ available: Int64, _ needed: Int64) -> String {
      "\(FreeSpace.Problem.tooLittle(path: "/x", available: available, needed: needed))"
    }
    #expect(text(0, 999) == "The volume of /x has 0 bytes free, and 999 bytes are needed.")
    #expect(
      text(1_234, 1_234_567_890)
        == "The volume of /x has 1.2 kB (1,234 bytes) free, "
        + "and 1.2 GB (1,234,567,890 bytes) are needed."
    )
    #expect(
      text(1_000_000, .max)
        == "The volume of /x has 1.0 MB (1,000,000 bytes) free, "
        + "and 9.2 EB (9,223,372,036,854,775,807 bytes) are needed."
    )
  }

  @Test func `enough free space satisfies FreeSpace even for a missing file`() async {
    #expect(await evaluate(FreeSpace(atLeast: 1, at: "/"), for: operation).isSatisfied)
    let unmade = FreeSpace(atLeast: 1, at: "/no-such-folder-of-tests/file")
    #expect(await evaluate(unmade, for: operation).isSatisfied)
    #expect(await evaluate(FreeSpace(atLeast: 1, at: "no-such-file"), for: operation).isSatisfied)
  }

  @Test func `a condition for too much free space fails with the numbers`() async {
    let result = await evaluate(FreeSpace(atLeast: .max, at: "/"), for: operation)
    guard
      case .tooLittle(let path, let available, let needed) = result.errors.first
        as? FreeSpace.Problem
    else {
      Issue.record("\(result)")
      return
    }
    #expect(path == "/")
    #expect(available >= 0)
    #expect(needed == .max)
  }

  @Test(arguments: [(999, false), (1_000, true), (1_001, true)])
  func `a closure may measure the free space`(available: Int64, isEnough: Bool) {
    let paths = Log<String>()
    let space = FreeSpace(atLeast: 1_000, at: "/x") { path in
      paths.add(path)
      return available
    }
    let result = space.check(operation)
    #expect(result.isSatisfied == isEnough)
    #expect(paths.entries == ["/x"])
    if !isEnough {
      let problem = FreeSpace.Problem.tooLittle(path: "/x", available: available, needed: 1_000)
      #expect(result.errors.first as? FreeSpace.Problem == problem)
    }
  }

  @Test func `an error of the measuring closure fails FreeSpace`() {
    let flaw = FreeSpace(atLeast: 1, at: "/x") { _ in throw Flaw(7) }.check(operation)
    let notMeasured = FreeSpace.Problem.notMeasured(path: "/x", reason: "\(Flaw(7))")
    #expect(flaw.errors.first as? FreeSpace.Problem == notMeasured)
    #expect(
      "\(notMeasured)" == "The free space of the volume of /x could not be measured: \(Flaw(7))"
    )
    let unknown = FreeSpace.Problem.unknown(path: "/y", code: 5)
    let known = FreeSpace(atLeast: 1, at: "/x") { _ in throw unknown }.check(operation)
    #expect(known.errors.first as? FreeSpace.Problem == unknown)
  }

  // MARK: Dependencies

  /// A finished world: an operation that depends on one of each kind.
  private static func ended() -> (failed: Work, cancelled: Work, skipped: Work, plain: Operation) {
    let world = World()
    let cancelled = Work("cancelled")
    cancelled.cancel()
    let skipped = Work("skipped")
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    let failed = Work.failing("failed")
    let plain = BlockOperation {}
    world.run(failed, cancelled, skipped, plain)
    return (failed, cancelled, skipped, plain)
  }

  @Test func `NoFailedDependencies fails only because of failed dependencies`() throws {
    let ended = Self.ended()
    let work = Work()
    for dependency in [ended.cancelled, ended.skipped] { work.addDependency(dependency) }
    work.addDependency(ended.plain)
    #expect(try #require(NoFailedDependencies().immediateResult(for: work)).isSatisfied)
    work.addDependency(ended.failed)
    let result = try #require(NoFailedDependencies().immediateResult(for: work))
    let error = result.errors.first as? DependencyRule.Broken
    #expect(error?.failure.elements.map(\.origin) == [.dependency("failed")])
    #expect(flaws((error?.failure.errors.first as? OperationFailure)?.errors ?? []) == [1])
    #expect(error?.failure.isInherited == true)
  }

  @Test
  func `NoCancelledDependencies fails only because of cancelled dependencies including plain ones`()
    throws
  {
    let ended = Self.ended()
    let work = Work()
    for dependency in [ended.failed, ended.skipped] { work.addDependency(dependency) }
    #expect(try #require(NoCancelledDependencies().immediateResult(for: work)).isSatisfied)
    let plain = BlockOperation {}
    plain.name = "plain"
    plain.cancel()
    plain.start()
    work.addDependency(ended.cancelled)
    work.addDependency(plain)
    let result = try #require(NoCancelledDependencies().immediateResult(for: work))
    let error = result.errors.first as? DependencyRule.Broken
    let origins = error?.failure.elements.map(\.origin)
    #expect(origins == [.dependency("cancelled"), .dependency("plain")])
    #expect(error?.failure.errors.allSatisfy { $0 is OperationFailure } == true)
  }

  @Test func `a failure that a dependency caused is marked as inherited`() {
    let world = World()
    let failing = Work.failing("failing")
    let work = Work("work")
    work.addDependency(failing)
    work.addCondition(NoFailedDependencies())
    work.addCondition(Immediate("own", always: .failed(Flaw(2))))
    world.run(failing, work)
    #expect(work.outcome?.failure?.elements.map(\.isInherited) == [true, false])
  }
}
