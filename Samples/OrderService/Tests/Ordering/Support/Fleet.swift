import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import Synchronization
import Testing

/// Several instances of the program, which share a shop, in virtual time.
final class Fleet {
  /// One of the instances.
  struct Instance {
    let store: InstanceStore
    let desk: OrderDesk
  }

  static let heartbeat = Duration.seconds(2)

  let simulation: SimulatedEnvironment
  let shop: Shop
  /// All that were started: a desk that goes away beats no more.
  private var instances: [Instance] = []
  private let table = LeaseBook(heartbeat: Fleet.heartbeat)

  init(in shop: Shop = Shop(), seed: UInt64 = 1) {
    self.shop = shop
    simulation = SimulatedEnvironment(seed: seed)
  }

  /// Starts an instance; it takes up the orders that no other one holds.
  @discardableResult
  func start(
    _ name: String,
    _ change: (inout OrderDesk.Options) -> Void = { _ in }
  ) throws -> Instance {
    var options = OrderDesk.Options()
    change(&options)
    var environment = simulation.environment
    // Claims are shared within a process, and not between machines.
    environment.claimDomain = ClaimDomain()
    let store = InstanceStore(name, shop: shop, book: table, clock: environment.clock)
    let desk = OrderDesk(
      store: store,
      payments: shop.provider,
      shipping: shop.carrier,
      options: options,
      environment: environment
    )
    try simulation.run { _ = try await desk.open() }
    let instance = Instance(store: store, desk: desk)
    instances.append(instance)
    return instance
  }

  /// Places an order with an instance.
  func submit(_ draft: OrderDraft, to instance: Instance, key: String = "key") throws -> OrderID {
    try simulation.run { try await instance.desk.submit(draft, key: key).order.id }
  }

  /// Runs until a condition is true, and no longer than a day: heartbeats never end.
  func run(
    fileID: String = #fileID,
    line: Int = #line,
    until condition: () -> Bool
  ) throws {
    let clock = simulation.environment.clock
    let end = clock.now + .seconds(86_400)
    try simulation.run(
      fileID: fileID,
      line: line,
      until: { condition() || clock.now > end }
    )
    if condition() { return }
    throw ExpectationFailure(
      "The condition has not become true within a day.",
      fileID: fileID,
      line: line
    )
  }

  /// The instance that holds an order.
  func holder(of id: OrderID) -> String? { table.holder(of: id) }

  /// How an order is in the database.
  func state(of id: OrderID) -> Order.State? { shop.store.order(id)?.state }
}

/// The leases that the instances of a fleet share.
final class LeaseBook: Sendable {
  private let table: Mutex<LeaseTable>

  init(heartbeat: Duration) { table = Mutex(LeaseTable(heartbeat: heartbeat)) }

  func withTable<Value>(_ body: (inout LeaseTable) throws -> Value) rethrows -> Value {
    try table.withLock { try body(&$0) }
  }

  func holder(of id: OrderID) -> String? { table.withLock { $0.lease(of: id)?.holder } }
}

/// The store as an instance sees it: its writes are refused when another one holds the order.
final class InstanceStore: OrderLeases, RequestBucket {
  /// There is no way to the store.
  struct CutOff: Error {}

  let instance: String
  let heartbeat = Fleet.heartbeat
  /// Whether no heartbeat of the instance is heard, although it goes on.
  let isUnheard = Mutex(false)
  /// Whether the bucket of requests can't be reached.
  let isBucketAway = Mutex(false)
  /// How many tokens the bucket has.
  let tokens = Mutex(Int.max)
  /// Orders that this instance can't read.
  let unreadable = Mutex<[OrderID: String]>([:])
  private let shop: Shop
  private let book: LeaseBook
  private let clock: OperationClock
  private let held = Mutex<[OrderID: LeaseTable.Lease]>([:])

  init(_ instance: String, shop: Shop, book: LeaseBook, clock: OperationClock) {
    self.instance = instance
    self.shop = shop
    self.book = book
    self.clock = clock
    book.withTable { $0.beat(instance, at: clock.now) }
  }

  private func take(_ id: OrderID) -> Bool {
    guard let lease = book.withTable({ $0.take(id, by: instance, at: clock.now) }) else {
      return false
    }
    held.withLock { $0[id] = lease }
    return true
  }

  private func check(_ order: OrderID) throws {
    let lease = held.withLock { $0[order] }
    try book.withTable { try $0.check(lease, of: order) }
  }

  // MARK: Leases

  func beat() throws -> [OrderID] {
    if isUnheard.withLock({ $0 }) { throw CutOff() }
    book.withTable { $0.beat(instance, at: clock.now) }
    let held = held.withLock { $0 }
    return book.withTable { table in
      held.filter { table.lease(of: $0.key) != $0.value }.map(\.key)
    }
  }

  func takeOver(limit: Int) -> [Order] {
    let own = held.withLock { Set($0.keys) }
    let unreadable = unreadable.withLock { $0 }
    return shop.store.takeUp().filter { !own.contains($0.id) && unreadable[$0.id] == nil }
      .prefix(limit).filter { take($0.id) }
  }

  func requestedCancels() throws -> [OrderID: String] {
    let held = held.withLock { Array($0.keys) }
    return held.reduce(into: [:]) { cancels, id in
      guard let order = shop.store.order(id), order.state == .open else { return }
      cancels[id] = order.cancelReason
    }
  }

  /// None: each is learned with a heartbeat.
  var cancelSignals: AsyncStream<Void> { AsyncStream { $0.finish() } }
  var unreadableOrders: [OrderID: String] { unreadable.withLock { $0 } }

  func takeUp() -> [Order] { takeOver(limit: .max) }
  func leave(_ order: OrderID) { held.withLock { $0[order] = nil } }
  func resign() { book.withTable { $0.resign(instance) } }

  func signals(of order: OrderID) -> AsyncStream<Void> {
    let clock = clock
    return AsyncStream {
      do { try await clock.sleep(for: .milliseconds(100)) } catch { return nil }
      return ()
    }
  }

  func takeTokens(_ wanted: Int, capacity: Int, period: Duration) throws -> Int {
    if isBucketAway.withLock({ $0 }) { throw CutOff() }
    return tokens.withLock { tokens in
      let count = min(wanted, tokens)
      if tokens < .max { tokens -= count }
      return count
    }
  }

  // MARK: As the store does it

  func probe() {}
  func items() -> [Item] { shop.store.items() }
  func order(_ id: OrderID) -> Order? { shop.store.order(id) }
  func order(forKey key: String) -> Order? { shop.store.order(forKey: key) }
  func orders(limit: Int) -> [Order] { shop.store.orders(limit: limit) }
  func unsettledOrders(limit: Int) -> [Order] { shop.store.unsettledOrders(limit: limit) }

  func requestCancel(of order: OrderID, because reason: String) -> Bool {
    shop.store.requestCancel(of: order, because: reason)
  }

  func accept(_ draft: OrderDraft, id: OrderID, key: String) throws -> Submission {
    let submission = try shop.store.accept(draft, id: id, key: key)
    if submission.isNew { _ = take(id) }
    return submission
  }

  func begin(_ step: OrderStep, of order: OrderID) throws {
    try check(order)
    try shop.store.begin(step, of: order)
  }

  func value(of step: OrderStep, of order: OrderID) -> String? {
    shop.store.value(of: step, of: order)
  }

  func record(_ value: String, of step: OrderStep, of order: OrderID) throws {
    try check(order)
    try shop.store.record(value, of: step, of: order)
  }

  func reserve(_ line: OrderLine, for order: OrderID) throws {
    try check(order)
    try shop.store.reserve(line, for: order)
  }

  func confirm(_ order: OrderID) throws {
    try check(order)
    try shop.store.confirm(order)
  }

  func beginRollback(of order: OrderID, because failure: OrderFailure) throws -> Bool {
    try check(order)
    return shop.store.beginRollback(of: order, because: failure)
  }

  func release(_ line: OrderLine, of order: OrderID) throws {
    try check(order)
    shop.store.release(line, of: order)
  }

  func undone(_ step: OrderStep, of order: OrderID) throws {
    try check(order)
    shop.store.undone(step, of: order)
  }

  func finishRollback(of order: OrderID, problems: [String]) throws {
    try check(order)
    shop.store.finishRollback(of: order, problems: problems)
  }
}
