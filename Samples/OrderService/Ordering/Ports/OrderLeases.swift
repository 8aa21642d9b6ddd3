/// A store that several instances of the program share: each order is leased by one of them.
///
/// An instance holds the orders that it has accepted or taken up, as long as its heartbeat is seen. Of
/// an instance that has missed two heartbeats while those of others were heard, the others take the
/// orders over, each once: a lease has an epoch, which grows with each change of hands, and each write about an order checks it in its own
/// transaction. What the old holder writes afterwards is refused with ``LeaseLost``, so that it doesn't
/// matter whether it is dead, slow, or cut off for a while.
public protocol OrderLeases: OrderStore {
  /// What this instance is called; each of those that share a store has a name of its own.
  var instance: String { get }

  /// The time between two heartbeats.
  var heartbeat: Duration { get }

  /// Says that this instance lives.
  ///
  /// - Returns: The orders of this instance that another one has taken over.
  func beat() async throws -> [OrderID]

  /// The orders of this instance for which a cancel was noted, by any instance, and the reasons.
  func requestedCancels() async throws -> [OrderID: String]

  /// Says when ``requestedCancels()`` may have new orders.
  ///
  /// Signals may be lost: what isn't learned by them is looked for with each heartbeat.
  var cancelSignals: AsyncStream<Void> { get }

  /// Takes orders that aren't final and that no living instance works on, the first accepted first.
  ///
  /// Those of an instance that isn't heard any more are taken by one whose own heartbeats were heard
  /// meanwhile: after an outage of the store all instances get the time to be heard again.
  ///
  /// - Parameter limit: How many at most.
  /// - Returns: The orders, which this instance holds from now on.
  /// - Throws: An error of the store.
  func takeOver(limit: Int) async throws -> [Order]

  /// Nothing of an order goes on here any more: only now this instance may take it again.
  func leave(_ order: OrderID)

  /// This instance ends: others may take its orders at once.
  func resign() async throws

  /// Says when an order may have ended, wherever it was worked on.
  ///
  /// - Returns: A stream with an element whenever it is worth reading the order again, for as long as
  ///   it is listened to. It begins with the call, so that nothing is missed after it.
  func signals(of order: OrderID) -> AsyncStream<Void>
}
