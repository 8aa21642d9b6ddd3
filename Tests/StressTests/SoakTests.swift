import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Dispatch
import TestSupport
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// Programs over all features at once, one after the other, on threads and in simulations.
@Suite(.serialized, .heavy) struct `A long run` {
  /// Takes a second, ten minutes when `OPERATIONS_NIGHTLY` is set, or `OPERATIONS_SOAK_SECONDS`.
  ///
  /// `OPERATIONS_SOAK_SEED` is the first seed, `OPERATIONS_SOAK_COUNT` the number of programs
  /// instead of a time.
  @Test func `a long run finishes each program without leaks or memory growth`()
    async throws
  {
    let seconds = Effort.number("OPERATIONS_SOAK_SECONDS") ?? (Effort.isNightly ? 600 : 1)
    let count = Effort.number("OPERATIONS_SOAK_COUNT")
    let first = UInt64(Effort.number("OPERATIONS_SOAK_SEED") ?? 1)
    let (world, clock) = (Soak.World(), ContinuousClock())
    let begin = clock.now
    var (seed, pages, problems) = (first, [Int](), [String]())
    let watchdog = Soak.Watchdog()
    defer { watchdog.end() }
    let handlers = ThrowHandlers.remove()
    defer { handlers.restore() }
    // The first quarter warms up what the process keeps.
    for part in 1...4 {
      repeat {
        let program = Soak.Program(seed: seed, world)
        watchdog.watch(program)
        problems += try await program.run().map { "OPERATIONS_SOAK_SEED=\(seed): \($0)" }
        await program.release()
        if seed % 16 == 0 { try await SimulatedRound.run(seed) }
        seed += 1
        if let count, seed >= first + UInt64(max(1, count * part / 4)) { break }
      } while problems.isEmpty
        && (count != nil || begin.duration(to: clock.now) < .seconds(seconds) * part / 4)
      Self.returnFreePages()
      if let resident = Self.residentPages { pages.append(resident) }
    }
    for problem in problems.prefix(5) { Issue.record("\(problem)") }
    print("soak: seeds \(first)..<\(seed), resident pages after each quarter: \(pages)")
    // Sanitizers keep what was freed; and other tests run in the same process, so that only a long
    // run says something about memory.
    if seconds >= 60, !Self.isSanitized, let early = pages.first, let late = pages.last {
      #expect(late <= early + max(early / 10, 2_048))
    }
  }

  /// Resident memory in pages; nil where the system doesn't tell.
  private static var residentPages: Int? {
    guard let file = unsafe fopen("/proc/self/statm", "r") else { return nil }
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard unsafe fgets(&line, 256, file) != nil else { return nil }
    let bytes = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    return fields.count > 1 ? Int(fields[1]) : nil
  }

  /// Has the allocator return the pages in which nothing is in use.
  ///
  /// Without it, resident memory says how the threads happened to spread their work over the
  /// allocator's arenas, and not what is kept.
  private static func returnFreePages() {
    typealias Trim = @convention(c) (Int) -> Int32
    guard let address = unsafe dlsym(nil, "malloc_trim") else { return }
    _ = unsafe unsafeBitCast(address, to: Trim.self)(0)
  }

  private static var isSanitized: Bool {
    let names = ["__asan_init", "__tsan_init"]
    return names.contains { name in unsafe dlsym(nil, name) != nil }
  }
}

/// What the testing library does at each `throw`: it keeps where that was, some hundred bytes for
/// each error until the end of the run, which was all that grew.
@safe
private struct ThrowHandlers {
  private typealias Setter = @convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer?

  private let setters: [Setter]
  private let old: [UnsafeRawPointer?]

  static func remove() -> ThrowHandlers {
    let names = ["swt_setWillThrowHandler", "swt_setWillThrowTypedHandler"]
    var (setters, old) = unsafe ([Setter](), [UnsafeRawPointer?]())
    for name in names {
      guard let address = unsafe dlsym(nil, name) else { continue }
      let setter = unsafe unsafeBitCast(address, to: Setter.self)
      unsafe setters.append(setter)
      unsafe old.append(setter(nil))
    }
    return unsafe ThrowHandlers(setters: setters, old: old)
  }

  func restore() {
    for index in unsafe setters.indices { _ = unsafe setters[index](old[index]) }
  }
}

/// The same in a simulation, which takes its threads in turn.
private enum SimulatedRound {
  static func run(_ seed: UInt64) async throws {
    let live = CoreStress.Live()
    let strays = await CoreStress.onThread {
      let simulation = SimulatedEnvironment(seed: seed)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      var last: AdvancedOperation?
      for number in 0..<50 {
        let operation = AdvancedStress.Work(live, .finishes)
        if number % 3 == 0 { operation.addClaim(MutuallyExclusive("one")) }
        if number % 5 == 0 { operation.addCondition(BlockCondition { number % 10 == 0 }) }
        if number % 7 == 0 { operation.addObserver(TimeoutObserver(.seconds(1))) }
        if let last { operation.addDependency(last) }
        last = number % 11 == 0 ? nil : operation
        if number % 13 == 0 { simulation.addStep("cancel") { operation.cancel() } }
        queue.addOperation(operation)
      }
      queue.addOperation(
        GroupOperation { (0..<5).map { _ in AdvancedStress.Work(live, .finishes) } }
      )
      simulation.run()
      return simulation.strays.count
    }
    #expect(strays == 0, "seed \(seed)")
    #expect(live.now == 0, "seed \(seed)")
  }
}
