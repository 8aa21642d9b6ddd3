import Foundation
import Synchronization

/// Taskflow, a C++ library of task graphs, compiled when somebody points to its headers.
struct TaskflowContestant: Contestant {
  private typealias Body = @convention(c) () -> Void
  private typealias Run =
    @convention(c) (Int32, UnsafePointer<Int32>, UnsafePointer<Int32>, Int32, Body) -> Void

  let name = ContestantName.taskflow.title
  private let execute: Run

  /// Compiles the driver and loads it.
  init(headers: String) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("operation-benchmarks-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = folder.appendingPathComponent("driver.cpp")
    let library = folder.appendingPathComponent("driver.so")
    try Data(TaskflowDriver.source.utf8).write(to: source)
    try Self.compile(source, to: library, headers: headers)
    guard let handle = dlopen(library.path, RTLD_NOW),
      let symbol = dlsym(handle, TaskflowDriver.function)
    else {
      throw WrongResult(description: "its driver cannot be loaded")
    }
    execute = unsafeBitCast(symbol, to: Run.self)
  }

  private static func compile(_ source: URL, to library: URL, headers: String) throws {
    let names = ["clang++", "g++", "c++"]
    let paths = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let compilers = names.flatMap { name in paths.map { "\($0)/\(name)" } }
      .filter { FileManager.default.isExecutableFile(atPath: $0) }
    guard !compilers.isEmpty else {
      throw WrongResult(description: "there is no C++ compiler (\(names.joined(separator: ", ")))")
    }
    var complaint = ""
    // A compiler may be there without its standard library; then the next one is tried.
    for language in ["c++20", "c++17"] {
      for compiler in compilers {
        let process = Process()
        let errors = Pipe()
        process.executableURL = URL(fileURLWithPath: compiler)
        process.arguments = [
          "-std=\(language)", "-O3", "-DNDEBUG", "-shared", "-fPIC", "-pthread", "-I", headers,
          "-o", library.path, source.path,
        ]
        process.standardError = errors
        try process.run()
        let text = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        if process.terminationStatus == 0 { return }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        complaint = lines.first { $0.contains("error") }.map(String.init) ?? ""
      }
    }
    throw WrongResult(description: "its driver does not compile: \(complaint)")
  }

  func objection(to job: Job) -> String? {
    if job.isBlocking { return "it has as many threads as there are processors" }
    if job.limit != nil { return "its limit is that of its threads" }
    switch job.body {
    case .count, .countNode, .spin: return nil
    case .spinEach, .sleep, .check: return "its driver has one body for all tasks"
    }
  }

  func run(_ job: Job, clock: inout PhaseClock) {
    let body: Body
    switch job.body {
    case .spin:
      body = {
        Kernel.spin(Kernel.steps.load(ordering: .relaxed))
        RunCount.add()
      }
    case .count, .countNode, .spinEach, .sleep, .check: body = { RunCount.add() }
    }
    let (offsets, successors) = job.graph.successors()
    let isOneByOne: Int32 = job.handover == .batch ? 0 : 1
    execute(Int32(job.graph.count), offsets, successors, isOneByOne, body)
  }
}

/// What is compiled: a few lines that build a graph from an array and run it.
private enum TaskflowDriver {
  static let function = "run_graph"
  static let source = """
    #include <taskflow/taskflow.hpp>
    #include <vector>

    static tf::Executor& executor() {
      static tf::Executor one;
      return one;
    }

    extern "C" void run_graph(int count, const int* offsets, const int* successors,
                              int one_by_one, void (*body)()) {
      if (one_by_one) {
        for (int i = 0; i < count; i++) executor().silent_async(body);
        executor().wait_for_all();
        return;
      }
      tf::Taskflow graph;
      std::vector<tf::Task> tasks;
      tasks.reserve(count);
      for (int i = 0; i < count; i++) tasks.push_back(graph.emplace([body] { body(); }));
      for (int i = 0; i < count; i++)
        for (int e = offsets[i]; e < offsets[i + 1]; e++) tasks[i].precede(tasks[successors[e]]);
      executor().run(graph).wait();
    }
    """
}
