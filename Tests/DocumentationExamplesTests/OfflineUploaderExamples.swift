import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Synchronization
import Testing

/// A server that recognizes the key of each photo, so that a repeated request changes nothing.
protocol PhotoServer: Sendable {
  func signIn() async throws -> String
  func createDraft(_ photo: String, token: String) async throws
  func send(_ photo: String, token: String) async throws
  func deleteDraft(_ photo: String, token: String) async throws
}

struct SignInExpired: Error {}  // status 401

struct ServerIsBusy: Error, CustomStringConvertible {  // status 429
  let retryAfter: Duration
  var description: String { "status 429" }
}

struct PhotoRejected: Error, CustomStringConvertible {  // any other status from 400 to 499
  let description: String
}

struct UploadsNotAllowed: Error, CustomStringConvertible {
  let description = "The user hasn't allowed uploads."
}

/// The permission of the user: the first upload shows the dialog, and later uploads find the answer.
final class UploadPermission: OperationCondition {
  let name = "permission"
  private let answer = Mutex<Bool?>(nil)
  private let showDialog: @Sendable () async throws -> Bool

  init(_ showDialog: @escaping @Sendable () async throws -> Bool) { self.showDialog = showDialog }

  func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    if answer.withLock({ $0 != nil }) { return nil }
    let dialog = ResultOperation(name: "dialog") { [self] in
      if answer.withLock({ $0 != nil }) { throw OperationSkipped(reason: "there is an answer") }
      let isAllowed = try await showDialog()
      answer.withLock { $0 = isAllowed }
    }
    dialog.addClaim(MutuallyExclusive("dialog"))
    return dialog
  }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    answer.withLock { $0 == true } ? .satisfied : .failed(UploadsNotAllowed())
  }
}

/// The token of the current sign-in.
final class AccessToken: Sendable {
  let value = Mutex("")
}

final class Uploader: Sendable {
  let network = Gate("network", isOpen: false)
  let queue: AdvancedOperationQueue
  private let services: AdvancedOperationQueue
  private let server: any PhotoServer
  private let journal: any OperationJournal
  private let permission: UploadPermission
  private let token = AccessToken()
  private let signIns: SharedOperations<String, String>

  /// Retries for as long as it takes, except if the server rejects the photo itself.
  private let policy = RetryPolicy.exponential(.seconds(1), cap: .seconds(60)).jittered()
    .when { !($0 is PhotoRejected) }
    .retryAfter(holding: "photos") { ($0 as? ServerIsBusy)?.retryAfter }

  init(
    _ server: any PhotoServer,
    _ journal: any OperationJournal,
    _ permission: UploadPermission,
    environment: OperationEnvironment = OperationEnvironment()
  ) {
    self.server = server
    self.journal = journal
    self.permission = permission
    queue = AdvancedOperationQueue(
      name: "uploads",
      maxConcurrentOperationCount: 4,
      environment: environment
    )
    // An upload that has a slot waits for these operations, so they must not need a slot themselves.
    services = AdvancedOperationQueue(name: "sign-in and undo", environment: environment)
    signIns = SharedOperations("sign-in", queue: services) { [network, token] _ in
      let signIn = ResultOperation(name: "sign in", retry: .exponential(.seconds(1)).attempts(3)) {
        let new = try await server.signIn()
        token.value.withLock { $0 = new }
        return new
      }
      signIn.addCondition(network)
      return signIn
    }
  }

  /// Adds an upload; call it again for each open photo when the program starts.
  @discardableResult func upload(_ photo: String) -> GroupOperation {
    let draft = request("draft of \(photo)") { [server] token in
      try await server.createDraft(photo, token: token)
    }
    draft.recorded(as: "\(photo)/draft", in: journal)
    draft.onRollback { [self] in
      try await services.run(
        request("deletion of \(photo)") { [server] token in
          try await server.deleteDraft(photo, token: token)
        }
      )
    }

    let send = request("transfer of \(photo)") { [server] token in
      try await server.send(photo, token: token)
    }
    send.recorded(as: "\(photo)/sent", in: journal)
    send.addDependency(draft)
    send.addCondition(.allSucceeded)

    let upload = GroupOperation(name: photo, errorPolicy: .failFast) {
      draft
      send
    }
    upload.addCondition(network)
    upload.addCondition(permission)
    upload.conditionPolicy = .stopAtFirstFailure
    queue.addOperation(upload)
    return upload
  }

  /// A request that waits for the network before each attempt, takes part in the rate, and signs in again.
  private func request(
    _ name: String,
    _ body: @escaping @Sendable (_ token: String) async throws -> Void
  ) -> ResultOperation<Void> {
    RetryOperation(name: name, retry: policy) { [self] number in
      let attempt = ResultOperation(name: "\(name) #\(number)") { [self] in
        let old = token.value.withLock { $0 }
        do {
          try await body(old)
        } catch is SignInExpired {
          try await body(try await token(insteadOf: old))
        }
      }
      attempt.addCondition(network)
      attempt.addClaim(RateLimit("photos", 10, per: .seconds(1)))
      return attempt
    }
  }

  private func token(insteadOf rejected: String) async throws -> String {
    let current = token.value.withLock { $0 }
    return current == rejected ? try await signIns.value(for: "user") : current
  }
}

func keepUploading(
  _ openPhotos: [String],
  with uploader: Uploader,
  _ networkChanges: some AsyncSequence<Bool, Never>
) async {
  for photo in openPhotos { uploader.upload(photo) }
  for await isOnline in networkChanges {
    if isOnline { uploader.network.open() } else { uploader.network.close(reason: "offline") }
  }
}

/// A server that answers each request after a second.
final class FakePhotoServer: PhotoServer {
  struct State {
    var (dialogCount, signInCount) = (0, 0)
    var busyUntil = Duration.zero
    var tooLarge = ""
    var requests: [Duration] = []
    var changes: [String] = []
  }

  let state = Mutex(State())
  var requests: [Duration] { state.withLock { $0.requests } }
  var changes: [String] { state.withLock { $0.changes } }

  func signIn() async throws -> String {
    try await OperationClock.current.sleep(for: .seconds(1))
    return state.withLock { state in
      state.signInCount += 1
      return "token \(state.signInCount)"
    }
  }

  func createDraft(_ photo: String, token: String) async throws {
    try await answer(token) { $0.changes.append("draft of \(photo)") }
  }

  func send(_ photo: String, token: String) async throws {
    try await answer(token) { state in
      if state.tooLarge == photo { throw PhotoRejected(description: "\(photo) is too large.") }
      state.changes.append(photo)
    }
  }

  func deleteDraft(_ photo: String, token: String) async throws {
    try await answer(token) { $0.changes.append("no draft of \(photo)") }
  }

  private func answer(_ token: String, _ change: (inout State) throws -> Void) async throws {
    let clock = OperationClock.current
    try await clock.sleep(for: .seconds(1))
    try state.withLock { state in
      state.requests.append(clock.now)
      if token != "token \(state.signInCount)" { throw SignInExpired() }
      let wait = state.busyUntil - clock.now
      if wait > .zero { throw ServerIsBusy(retryAfter: wait) }
      try change(&state)
    }
  }
}

func makeUploader(
  _ simulation: SimulatedEnvironment,
  _ server: FakePhotoServer,
  _ journal: InMemoryJournal = InMemoryJournal(),
  isOnline: Bool = true,
  isAllowed: Bool = true
) -> Uploader {
  let permission = UploadPermission {
    server.state.withLock { $0.dialogCount += 1 }
    try await OperationClock.current.sleep(for: .seconds(1))
    return isAllowed
  }
  let uploader = Uploader(server, journal, permission, environment: simulation.environment)
  if isOnline { uploader.network.open() }
  return uploader
}

@Test(arguments: SimulatedEnvironment.seeds)
func `An uploader waits for the network, without a dialog`(seed: UInt64) throws {
  let (simulation, server) = (SimulatedEnvironment(seed: seed), FakePhotoServer())
  let uploader = makeUploader(simulation, server, isOnline: false)
  let upload = uploader.upload("beach")
  simulation.advance(by: .seconds(3_600))
  #expect(server.requests.isEmpty && server.state.withLock { $0.dialogCount } == 0)
  uploader.network.open()
  simulation.run()
  try expectOutcome(of: upload, is: .succeeded)
}

@Test(arguments: SimulatedEnvironment.seeds)
func `Uploads fail without a request if the user refuses`(seed: UInt64) throws {
  let (simulation, server) = (SimulatedEnvironment(seed: seed), FakePhotoServer())
  let uploader = makeUploader(simulation, server, isAllowed: false)
  let uploads = (1...20).map { uploader.upload("photo \($0)") }
  simulation.run()
  for upload in uploads { try expectConditionFailure(of: upload, as: UploadsNotAllowed.self) }
  #expect(server.requests.isEmpty && server.state.withLock { $0.dialogCount } == 1)
}

@Test func `A hundred uploads sign in once`() throws {
  let (simulation, server) = (SimulatedEnvironment(seed: 1), FakePhotoServer())
  let uploader = makeUploader(simulation, server)
  uploader.queue.maxConcurrentOperationCount = 100
  for number in 1...100 { uploader.upload("photo \(number)") }
  simulation.run()
  #expect(server.changes.count == 200 && server.state.withLock { $0.signInCount } == 1)
}

@Test func `The status 429 holds all uploads`() throws {
  let (simulation, server) = (SimulatedEnvironment(seed: 1), FakePhotoServer())
  let uploader = makeUploader(simulation, server)
  uploader.queue.maxConcurrentOperationCount = 100
  server.state.withLock { $0.busyUntil = .seconds(60) }
  for number in 1...100 { uploader.upload("photo \(number)") }
  simulation.run()
  // The first refusal is at 4 s. A request that was on its way then ends within a second.
  #expect(!server.requests.contains { .seconds(5) < $0 && $0 < .seconds(60) })
  #expect(server.changes.count == 200)
}

@Test func `After a restart, an upload continues with the transfer`() throws {
  let (server, journal) = (FakePhotoServer(), InMemoryJournal())
  let firstLife = SimulatedEnvironment(seed: 1)
  makeUploader(firstLife, server, journal).upload("beach")
  try firstLife.run(until: { journal.keys == ["beach/draft"] })

  let secondLife = SimulatedEnvironment(seed: 2)
  makeUploader(secondLife, server, journal).upload("beach")
  secondLife.run()
  #expect(server.changes == ["draft of beach", "beach"])
  #expect(journal.keys == ["beach/draft", "beach/sent"])
}

@Test func `A crash at any step loses no upload`() throws {
  try exploreRestarts(randomSchedules: 2, externalState: FakePhotoServer.init) {
    simulation,
    journal,
    server in
    makeUploader(simulation, server, journal).upload("beach")
  } check: { server in
    #expect(Set(server.changes) == ["draft of beach", "beach"])
  }
}

@Test(arguments: SimulatedEnvironment.seeds)
func `The draft of a rejected photo is deleted when there is a network`(seed: UInt64) throws {
  let (simulation, server) = (SimulatedEnvironment(seed: seed), FakePhotoServer())
  let uploader = makeUploader(simulation, server)
  server.state.withLock { $0.tooLarge = "beach" }
  let upload = uploader.upload("beach")
  try simulation.run(until: { server.changes == ["draft of beach"] })
  simulation.advance(by: .milliseconds(500))
  uploader.network.close()
  simulation.advance(by: .seconds(60))
  #expect(server.changes == ["draft of beach"] && !upload.isFinished)
  uploader.network.open()
  simulation.run()
  #expect(server.changes == ["draft of beach", "no draft of beach"])
  try expectOutcome(of: upload, is: .failed)
}

@Test func `An uploader says why nothing uploads`() throws {
  let print = Lines()

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let (server, journal) = (FakePhotoServer(), InMemoryJournal())
  let permission = UploadPermission {
    try await clock.sleep(for: .seconds(8))  // the user reads the dialog
    return true
  }
  let uploader = Uploader(server, journal, permission, environment: simulation.environment)
  var uploads = ["beach", "castle"].map { uploader.upload($0) }

  uploader.network.close(reason: "flight mode")
  simulation.advance(by: .seconds(90))
  print(uploader.queue.explain())

  uploader.network.open()
  simulation.advance(by: .seconds(5))
  print(uploader.queue.explain())

  try expectShown(print, in: "OfflineUploader")
  let ofHold = Lines()
  do {
    let print = ofHold

    server.state.withLock { state in
      state.busyUntil = clock.now + .seconds(60)
      state.tooLarge = "castle"
    }
    simulation.advance(by: .seconds(10))
    uploads.append(uploader.upload("dunes"))
    simulation.advance(by: .seconds(1))
    print(uploader.queue.explain())

    try expectShown(print, in: "OfflineUploader")
  }
  let ofEnd = Lines()
  do {
    let print = ofEnd

    simulation.run()
    for upload in uploads { print(upload.explain()) }
    print("server:", server.changes)
    print("journal:", journal.keys)

    try expectShown(print, in: "OfflineUploader")
  }
}

@Test func `An uploader follows the changes of the network, in real time`() async throws {
  let server = FakePhotoServer()
  let uploader = Uploader(server, InMemoryJournal(), UploadPermission { true })
  let changes = AsyncStream<Bool> { continuation in
    for isOnline in [false, true] { continuation.yield(isOnline) }
    continuation.finish()
  }
  await keepUploading(["beach"], with: uploader, changes)
  try await uploader.queue.untilAllOperationsAreFinished()
  #expect(server.changes == ["draft of beach", "beach"])
}
