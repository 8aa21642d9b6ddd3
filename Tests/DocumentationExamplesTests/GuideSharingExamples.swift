import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

/// A server that issues numbered tokens, each after a while.
private final class TokenServer: Sendable {
  private let count = Locked(0)
  private let duration: Duration

  init(_ duration: Duration) { self.duration = duration }

  var refreshCount: Int { count.withLock { $0 } }

  func refresh(_ account: String) async throws -> String {
    try await OperationClock.current.sleep(for: duration)
    return count.withLock { count in
      count += 1
      return "token \(count)"
    }
  }
}

private struct Document: Sendable {
  typealias ID = Int
  let id: ID
}

/// Counts what was saved.
private final class DocumentStore: Sendable {
  private let list = Locked<[Int]>([])

  var saved: [Int] { list.withLock { $0 } }

  func save(_ id: Int) async throws {
    try await OperationClock.current.sleep(for: .seconds(10))
    list.withLock { $0.append(id) }
  }
}

private func makeTokens(
  _ queue: OperationQueue,
  _ server: TokenServer
) -> SharedOperations<String, String> {
  let tokens = SharedOperations<String, String>("tokens", queue: queue) { account in
    ResultOperation(name: "refresh \(account)", retry: .exponential(.seconds(1)).attempts(3)) {
      try await server.refresh(account)
    }
  }
  return tokens
}

@Test func `Shared work: three requests, one refresh`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let server = TokenServer(.seconds(3))
  let tokens = makeTokens(queue, server)
  try simulation.run {
    async let first = tokens.value(for: "ada")
    async let second = tokens.value(for: "ada")
    async let third = tokens.value(for: "ada")
    for token in try await [first, second, third] { print(token) }
    print("refreshes: \(server.refreshCount)")
  }
  try expectShown(print, in: "SharingWork")
}

@Test func `Shared work: an explanation counts the callers`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let tokens = makeTokens(queue, TokenServer(.seconds(3)))
  let executor = simulation.environment.executor as? any TaskExecutor
  for _ in 0..<3 {
    Task(executorPreference: executor) { try await tokens.value(for: "ada") }
  }
  simulation.advance(by: .seconds(2))
  if let refresh = tokens.operation(for: "ada") { print(refresh.explain()) }
  try expectShown(print, in: "SharingWork")
  simulation.run()
}

@Test func `Shared work: fifty changes during a run lead to one more run`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let store = DocumentStore()
  let clock = simulation.environment.clock

  let saves = SharedOperations<Document.ID, Void>("saves", queue: queue) { id in
    ResultOperation(name: "save \(id)") { try await store.save(id) }
  }
  func changed(_ document: Document) async throws {
    try await saves.freshValue(for: document.id)
  }

  let executor = simulation.environment.executor as? any TaskExecutor
  for number in 0...50 {
    Task(executorPreference: executor) {
      try await clock.sleep(for: .milliseconds(10 * number))
      try await changed(Document(id: 7))
    }
  }
  simulation.run()
  #expect(store.saved == [7, 7])
}

private actor TokenStore {
  private(set) var token: String?
  func set(_ token: String) { self.token = token }
}

@Test func `Shared work: a hundred rejected requests, one refresh`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let server = TokenServer(.seconds(3))
  let store = TokenStore()
  let tokens = SharedOperations<String, String>("tokens", queue: queue) { account in
    ResultOperation(name: "refresh \(account)") {
      let token = try await server.refresh(account)
      await store.set(token)
      return token
    }
  }

  @Sendable
  func token(insteadOf rejected: String) async throws -> String {
    if let current = await store.token, current != rejected { return current }
    return try await tokens.value(for: "ada")
  }

  let new = try simulation.run {
    await store.set("token 0")
    return try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 1...100 { group.addTask { try await token(insteadOf: "token 0") } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
  }
  #expect(new == ["token 1"])
  #expect(try simulation.run { try await token(insteadOf: "token 0") } == "token 1")
  #expect(server.refreshCount == 1)
}

@Test func `Shared work: a caller outside finds the cycle in the failure`() {
  final class Holder: Sendable {
    let shared = Locked<SharedOperations<Int, Int>?>(nil)
  }
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let holder = Holder()
  let shared = SharedOperations<Int, Int>(queue: queue) { key in
    ResultOperation { try await holder.shared.withLock { $0 }?.value(for: key) ?? 0 }
  }
  holder.shared.withLock { $0 = shared }
  do {
    _ = try simulation.run { try await shared.value(for: 1) }
    Issue.record("a body that waits for itself has returned")
  } catch {
    #expect((error as? OperationFailure)?.first(OperationCycleError.self) != nil)
  }
  holder.shared.withLock { $0 = nil }
}

private struct Image: Sendable, Equatable {
  let url: String
}

private typealias URL = String

private func download(_ url: URL) async throws -> Image { Image(url: url) }

@Test func `Shared work: images by address`() async throws {
  let queue = AdvancedOperationQueue()
  let url = "https://example.org/a.png"
  let images = SharedOperations<URL, Image>("images", queue: queue) { url in
    ResultOperation(name: "load \(url)", retry: .exponential(.seconds(1)).attempts(3)) {
      try await download(url)
    }
  }
  let image = try await images.value(for: url)
  #expect(image == Image(url: url))
}
