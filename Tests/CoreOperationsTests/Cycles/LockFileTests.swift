import CoreOperations
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

/// A real graph that is not acyclic: what a lock file of Cargo says about its packages.
@Suite(.watched) struct `The packages of a lock file` {
  @Test
  func `packages of a lock file run after their dependencies except in cycles`() async throws {
    guard let text = LockFile.text(of: "lockfiles/uv-Cargo.lock") else {
      print("SKIPPED: the packages of a lock file: OPERATIONS_TEST_DATA has no lockfiles")
      return
    }
    let lock = LockFile(text)
    #expect(lock.packages.count == 753)
    #expect(lock.needs.reduce(0) { $0 + $1.count } == 3_160)

    let started = Log<Int>()
    let operations = lock.packages.indices.map { index in
      BlockOperation { started.add(index) }
    }
    for (index, needs) in lock.needs.enumerated() {
      operations[index].name = lock.packages[index]
      for need in needs { operations[index].addDependency(operations[need]) }
    }
    let queue = OperationQueue()
    queue.addOperations(operations)
    try await queue.untilAllOperationsAreFinished()

    let inCycle = lock.packages.indices.filter { lock.canReach($0, from: lock.needs[$0]) }
    #expect(inCycle.count == 1)
    #expect(operations.indices.filter { operations[$0].isCancelled } == inCycle)
    for index in inCycle {
      let error = try #require(operations[index].cancellationReason as? OperationCycleError)
      #expect(error.path.map(\.name) == [lock.packages[index], lock.packages[index]])
    }
    var place = [Int](repeating: -1, count: operations.count)
    for (turn, index) in started.entries.enumerated() { place[index] = turn }
    #expect(started.count == operations.count - inCycle.count)
    for (index, needs) in lock.needs.enumerated() where !inCycle.contains(index) {
      #expect(needs.allSatisfy { place[$0] < place[index] })
    }
  }
}

/// As much of a lock file as a graph needs.
private struct LockFile {
  /// Name and version.
  private(set) var packages: [String] = []
  /// The indices of what each package needs.
  private(set) var needs: [[Int]] = []

  init(_ text: String) {
    var names: [String: [Int]] = [:]
    var wanted: [[Substring]] = []
    var isInList = false
    for line in text.split(separator: "\n") {
      let quoted = line.split(separator: "\"", omittingEmptySubsequences: false)
      if line.hasPrefix("name = ") {
        names[String(quoted[1]), default: []].append(packages.count)
        packages.append(String(quoted[1]))
        wanted.append([])
      } else if line.hasPrefix("version = \"") {
        packages[packages.count - 1] += " \(quoted[1])"
      } else if line.hasPrefix("dependencies = [") {
        isInList = true
      } else if line == "]" {
        isInList = false
      } else if isInList {
        wanted[wanted.count - 1].append(quoted[1])
      }
    }
    needs = wanted.map { wanted in
      wanted.compactMap { text in
        let parts = text.split(separator: " ")
        let same = names[String(parts[0])] ?? []
        return same.count == 1
          ? same[0] : same.first { packages[$0] == "\(parts[0]) \(parts[1])" }
      }
    }
  }

  func canReach(_ goal: Int, from starts: [Int]) -> Bool {
    var seen = Set<Int>()
    var due = starts
    while let next = due.popLast() {
      if next == goal { return true }
      if seen.insert(next).inserted { due += needs[next] }
    }
    return false
  }

  /// The text of a file of the test data; nil where there are none.
  static func text(of path: String) -> String? {
    guard let folder = unsafe getenv("OPERATIONS_TEST_DATA"),
      let file = unsafe fopen(String(cString: folder) + "/" + path, "r")
    else { return nil }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = unsafe fread(&part, 1, part.count, file), count > 0 {
      bytes += part[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
