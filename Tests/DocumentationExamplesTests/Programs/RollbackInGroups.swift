import AdvancedOperations
import AdvancedOperationsTesting
import Synchronization
import Testing

/// A trip is a group that books a flight, which is a group too, and a hotel: all of it or nothing.
///
/// Who books something says how to undo it, and doesn't need to know which group will do that.
@Suite struct `A program that books all of a trip or nothing` {
  struct SoldOut: Error {}

  struct Unreachable: Error {}

  final class Journal: Sendable {
    private let entries = Mutex<[String]>([])

    var lines: [String] { entries.withLock { $0 } }

    func write(_ line: String) { entries.withLock { $0.append(line) } }
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let queue: AdvancedOperationQueue
  let journal = Journal()

  init() {
    queue = AdvancedOperationQueue(environment: simulation.environment)
  }

  func booking(
    _ name: String,
    failure: (any Error)? = nil,
    failureOfRollback: (any Error)? = nil
  ) -> ResultOperation<Void> {
    ResultOperation(name: name) { [journal] in
      if let failure { throw failure }
      journal.write("book \(name)")
      AdvancedOperation.current?.onRollback {
        journal.write("give back \(name)")
        if let failureOfRollback { throw failureOfRollback }
      }
    }
  }

  func trip(
    seat: AdvancedOperation,
    meal: AdvancedOperation,
    hotel: AdvancedOperation
  ) -> (trip: GroupOperation, flight: GroupOperation) {
    let flight = GroupOperation(name: "flight", errorPolicy: .failFast) {
      meal.addDependency(seat)
      seat
      meal
    }
    let trip = GroupOperation(name: "trip", errorPolicy: .failFast) {
      hotel.addDependency(flight)
      flight
      hotel
    }
    return (trip, flight)
  }

  @Test func `undoes nothing when all is booked`() throws {
    let (trip, _) = trip(seat: booking("seat"), meal: booking("meal"), hotel: booking("hotel"))
    queue.addOperation(trip)
    simulation.run()
    try expectOutcome(of: trip, is: .succeeded)
    #expect(journal.lines == ["book seat", "book meal", "book hotel"])
    #expect(!trip.onRollback {})
  }

  @Test func `undoes the flight when the hotel is sold out, the last booking first`() throws {
    let hotel = booking("hotel", failure: SoldOut())
    let (trip, flight) = trip(seat: booking("seat"), meal: booking("meal"), hotel: hotel)
    queue.addOperation(trip)
    simulation.run()
    try expectOutcome(of: flight, is: .succeeded)
    try expectOutcome(of: trip, is: .failed)
    #expect(journal.lines == ["book seat", "book meal", "give back meal", "give back seat"])
    let failure = try #require(trip.outcome?.failure)
    #expect(failure.rootCauses.map(\.origin) == [.child("hotel", .body)])
  }

  @Test func `books no hotel when the flight fails, which undoes its own part`() throws {
    let meal = booking("meal", failure: SoldOut())
    let hotel = booking("hotel")
    let (trip, flight) = trip(seat: booking("seat"), meal: meal, hotel: hotel)
    trip.addOperation(booking("insurance"))
    queue.addOperation(trip)
    let journal = journal
    flight.onFinish { _, _ in journal.write("the flight is over") }
    simulation.run()
    try expectOutcome(of: trip, is: .failed)
    #expect(hotel.outcome?.isSuccess == false)
    let undone = journal.lines.filter { !$0.hasPrefix("book") }
    #expect(undone == ["give back seat", "the flight is over", "give back insurance"])
    let failure = try #require(trip.outcome?.failure)
    #expect(failure.rootCauses.map(\.origin) == [.child("flight", .child("meal", .body))])
    #expect(failure.notRunCount == 1)
  }

  @Test func `undoes all of it when it is cancelled on the way`() throws {
    let hotel = HeldOperation(name: "hotel")
    let (trip, _) = trip(seat: booking("seat"), meal: booking("meal"), hotel: hotel)
    queue.addOperation(trip)
    try simulation.run(until: { hotel.isHeld })
    trip.cancel(withError: SoldOut())
    simulation.run()
    try expectOutcome(of: trip, is: .cancelled)
    #expect(hotel.cancellationReason is SoldOut)
    #expect(journal.lines == ["book seat", "book meal", "give back meal", "give back seat"])
  }

  @Test func `goes on undoing when one rollback fails, and says so`() throws {
    let meal = booking("meal", failureOfRollback: Unreachable())
    let hotel = booking("hotel", failure: SoldOut())
    let (trip, _) = trip(seat: booking("seat"), meal: meal, hotel: hotel)
    queue.addOperation(trip)
    simulation.run()
    #expect(journal.lines == ["book seat", "book meal", "give back meal", "give back seat"])
    let failure = try #require(trip.outcome?.failure)
    #expect(failure.first(SoldOut.self) != nil)
    #expect(failure.first(Unreachable.self) != nil)
  }
}
