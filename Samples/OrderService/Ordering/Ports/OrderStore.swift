/// Where orders are kept so that a crash loses nothing: a database.
///
/// Each method is one transaction: when it returns, a crash can't take away what it did; when it
/// throws, it did nothing. All of them can be repeated.
public protocol OrderStore: Sendable {
  // MARK: The shop

  /// What the shop sells, in the order of the numbers.
  func items() async throws -> [Item]

  /// Writes something that changes nothing: whether the store takes what is written.
  ///
  /// - Throws: Any error; it doesn't then.
  func probe() async throws

  // MARK: Orders

  /// Keeps an order with its lines, unless there is one with the same key.
  ///
  /// - Parameters:
  ///   - draft: What is ordered; it has no mistakes.
  ///   - id: What the order is to be called.
  ///   - key: What the client called its request; unique.
  /// - Returns: The order with the key, and whether it is the one that was to be kept.
  /// - Throws: Any error; nothing is kept then.
  func accept(_ draft: OrderDraft, id: OrderID, key: String) async throws -> Submission

  /// The order with an ID; nil if there is none.
  func order(_ id: OrderID) async throws -> Order?

  /// The order with a key; nil if there is none.
  func order(forKey key: String) async throws -> Order?

  /// The latest orders, the last accepted first.
  func orders(limit: Int) async throws -> [Order]

  /// Orders that are rolled back or stuck while their card may be charged, the first accepted first.
  func unsettledOrders(limit: Int) async throws -> [Order]

  /// Orders that aren't final and that no living program works on, the first accepted first.
  ///
  /// A stuck order whose card may be charged is rolled back again: a refund is never given up.
  /// The store counts them as those of this program from then on. One that this version of the program
  /// can't read is left as it is, and doesn't keep the others: see ``unreadableOrders``.
  func takeUp() async throws -> [Order]

  /// What is wrong with orders that were left alone when orders were taken up last.
  var unreadableOrders: [OrderID: String] { get }

  /// Notes that an order is to be cancelled, whichever program works on it; the first reason stays.
  ///
  /// - Parameters:
  ///   - order: The order.
  ///   - reason: Why, for people.
  /// - Returns: Whether that is noted, now or before; false unless the order is open.
  /// - Throws: Any error; then it isn't known whether it was noted.
  func requestCancel(of order: OrderID, because reason: String) async throws -> Bool

  // MARK: Steps

  /// Notes that a step may have an effect from now on.
  ///
  /// - Throws: ``RollbackHasBegun`` if the order is being rolled back.
  func begin(_ step: OrderStep, of order: OrderID) async throws

  /// The value of a step that is done, as JSON; nil otherwise.
  func value(of step: OrderStep, of order: OrderID) async throws -> String?

  /// Keeps the value of a step, which is done with it.
  ///
  /// - Throws: ``RollbackHasBegun`` if the order is being rolled back.
  func record(_ value: String, of step: OrderStep, of order: OrderID) async throws

  /// Sets items aside for an order, and notes the step as done, in one transaction.
  ///
  /// - Throws: ``OutOfStock``; ``RollbackHasBegun`` if the order is being rolled back.
  func reserve(_ line: OrderLine, for order: OrderID) async throws

  /// Marks an order as confirmed, and the step as done, in one transaction.
  ///
  /// - Throws: ``RollbackHasBegun`` if the order is being rolled back; ``OrderCancelled`` if a cancel
  ///   was noted before.
  func confirm(_ order: OrderID) async throws

  // MARK: Rollback

  /// Notes why an order is rolled back, before anything is undone; the first cause stays.
  ///
  /// - Returns: Whether it may be rolled back: false when it is final.
  func beginRollback(of order: OrderID, because failure: OrderFailure) async throws -> Bool

  /// Puts items back that were set aside, if they were, and notes the step as undone.
  func release(_ line: OrderLine, of order: OrderID) async throws

  /// Notes a step as undone.
  func undone(_ step: OrderStep, of order: OrderID) async throws

  /// Marks an order that was being rolled back as failed or cancelled, as its cause says.
  ///
  /// - Parameters:
  ///   - order: The order.
  ///   - problems: What could not be undone and never will be; with any, the order is stuck.
  /// - Throws: Any error; nothing is changed then.
  func finishRollback(of order: OrderID, problems: [String]) async throws
}

extension OrderStore {
  /// None: for stores that can read all that they keep.
  public var unreadableOrders: [OrderID: String] { [:] }
}
