import Foundation
import Testing

/// The compiler, for sources that import the modules of this build.
private struct Compiler {
  /// Nil where there is none, or only one of another version, which can't read the modules.
  static var found: Compiler? { get async { await search.value } }
  private static let search = Task { await onThread { find() } }

  private static func find() -> Compiler? {
    final class Marker {}
    // Beside the program that the tests are linked into, or the bundle that contains it.
    let bundle = Bundle(for: Marker.self).bundleURL
    let folders = [bundle, bundle.deletingLastPathComponent()].map {
      $0.appendingPathComponent("Modules")
    }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let programs = path.split(separator: ":").map { URL(fileURLWithPath: "\($0)/swiftc") }
    guard
      let modules = folders.first(where: {
        FileManager.default.fileExists(
          atPath: $0.appendingPathComponent("AdvancedOperations.swiftmodule").path
        )
      }),
      let program = programs.first(where: {
        FileManager.default.isExecutableFile(atPath: $0.path)
      })
    else { return nil }
    let compiler = Compiler(program: program, modules: modules)
    let isAble = try? compiler.check(["import AdvancedOperations\n_ = AdvancedOperation()\n"])
    return isAble?.isEmpty == true ? compiler : nil
  }

  let program: URL
  let modules: URL

  /// Compiles the files of a module; returns what the compiler says about them.
  func check(_ sources: [String]) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // The first may have statements at its top level.
    let files = sources.indices.map { index in
      folder.appendingPathComponent(index == 0 ? "main.swift" : "file\(index).swift")
    }
    for (file, source) in zip(files, sources) {
      try source.write(to: file, atomically: false, encoding: .utf8)
    }
    let output = folder.appendingPathComponent("output")
    try Data().write(to: output)
    let process = Process()
    process.executableURL = program
    process.arguments =
      ["-typecheck", "-swift-version", "6", "-I", modules.path] + files.map(\.path)
    process.standardError = try FileHandle(forWritingTo: output)
    process.standardOutput = process.standardError
    try process.run()
    process.waitUntilExit()
    let text = try String(contentsOf: output, encoding: .utf8)
    if process.terminationStatus != 0 && !text.contains("error:") {
      return "error: the compiler has ended with \(process.terminationStatus): \(text)"
    }
    return text
  }
}

/// Runs a body that blocks on a thread of its own.
private func onThread<Result: Sendable>(
  _ body: @escaping @Sendable () -> Result
) async -> Result {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}

@Suite(
  .enabled("no compiler in PATH can read the modules of this build") {
    await Compiler.found != nil
  },
  .serialized
)
struct `Names that Foundation has too` {
  /// One use of a name on each line.
  private static let uses = [
    "_ = Operation()",
    "_ = OperationQueue()",
    "_ = OperationQueue.main",
    "_ = OperationQueue.current",
    "_ = BlockOperation()",
    "_ = BlockOperation {}",
    "_ = QualityOfService.utility",
    "func add(_ operation: Operation, to queue: OperationQueue) {}",
    "final class Step: Operation, @unchecked Sendable {}",
    "final class Line: OperationQueue, @unchecked Sendable {}",
    "final class Block: BlockOperation, @unchecked Sendable {}",
    "let service: QualityOfService = .utility",
    "func isQueue(_ it: Any) -> Bool { it is OperationQueue }",
    "func use() { OperationQueue().addOperation {} }",
  ]

  private static let imports = ["import AdvancedOperations", "import Foundation"]

  /// A file with imports, and all uses after those.
  private static func source(importing imports: [String]) -> String {
    (imports + uses).joined(separator: "\n") + "\n"
  }

  private func check(_ sources: String...) async throws -> String {
    let compiler = try #require(await Compiler.found)
    return try await onThread { Result { try compiler.check(sources) } }.get()
  }

  @Test(arguments: [imports, imports.reversed()])
  func `each shared name is ambiguous in any order of imports`(imports: [String]) async throws {
    let output = try await check(Self.source(importing: imports))
    let lines = output.split(separator: "\n")
    for (index, use) in Self.uses.enumerated() {
      let place = "main.swift:\(imports.count + index + 1):"
      let errors = lines.filter { $0.contains(place) && $0.contains("error:") }
      #expect(errors.contains { $0.contains("ambiguous") }, "\(use): \(errors)")
    }
  }

  @Test(arguments: [
    "Sources/CoreOperations/CoreOperations.docc/BesideFoundation.md",
    "Sources/AdvancedOperations/AdvancedOperations.docc/AmbiguousOperation.md",
    "Sources/AdvancedOperations/AdvancedOperations.docc/FrequentlyAskedQuestions.md",
  ])
  func `the list of type aliases makes the names those of the package`(
    page: String
  ) async throws {
    var package = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { package.deleteLastPathComponent() }
    let text = try String(contentsOf: package.appendingPathComponent(page), encoding: .utf8)
    // In a list of Markdown the block is indented.
    let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
    let list = lines.filter { $0.hasPrefix("typealias ") }
    #expect(list.count == 4)
    let aliases = (["import AdvancedOperations"] + list).joined(separator: "\n") + "\n"
    let ours = """
      let queue: CoreOperations.OperationQueue = OperationQueue()
      let operation: CoreOperations.Operation = Operation()
      let block: CoreOperations.BlockOperation = BlockOperation {}
      let utility: CoreOperations.QualityOfService = QualityOfService.utility
      """
    let output = try await check(Self.source(importing: Self.imports) + ours + "\n", aliases)
    #expect(!output.contains("error:"), "\(output)")
  }

  @Test func `a member that only the package has resolves the name`() async throws {
    let source = """
      import AdvancedOperations
      import Foundation
      struct Threads: OperationExecutor {
        func enqueue(_ worker: @escaping @Sendable () -> Void) { Thread.detachNewThread(worker) }
      }
      let queue = OperationQueue(executor: Threads())
      let ours: CoreOperations.OperationQueue = queue
      queue.qualityOfService = .utility
      queue.addOperation {}
      let theirs: Foundation.OperationQueue.Type = OperationQueue.self
      """
    let output = try await check(source + "\n")
    #expect(!output.contains("error:"), "\(output)")
  }

  @Test func `the compiler refuses blocking calls in asynchronous functions`() async throws {
    let source = """
      import AdvancedOperations
      func wait(for operation: AdvancedOperation, in queue: AdvancedOperationQueue) async throws {
        operation.waitUntilFinished()
        queue.waitUntilAllOperationsAreFinished()
        queue.addOperations([operation], waitUntilFinished: true)
        try await operation.untilFinished()
        try await queue.untilAllOperationsAreFinished()
      }
      """
    let output = try await check(source + "\n")
    let errors = output.split(separator: "\n").filter { $0.contains("main.swift:") }
    for line in 3...5 {
      #expect(errors.contains { $0.contains("main.swift:\(line):") && $0.contains("async") })
    }
    #expect(!errors.contains { $0.contains("main.swift:6:") || $0.contains("main.swift:7:") })
  }
}
