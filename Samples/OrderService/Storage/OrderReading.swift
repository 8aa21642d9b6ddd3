import OrderWorkflow

/// Orders that were read, and those rows that this version of the program can't read.
struct OrderReading {
  private(set) var orders: [Order] = []
  /// What is wrong with the others.
  private(set) var unreadable: [OrderID: String] = [:]

  /// Reads one order; what is wrong with it is noted.
  ///
  /// - Throws: An error of the database, which says nothing about the order.
  mutating func read(_ id: OrderID, _ body: () throws -> Order) throws {
    do {
      orders.append(try Order.read(id, body))
    } catch let error as OrderUnreadable {
      unreadable[id] = error.reason
    }
  }
}

extension Order {
  /// A row says something that this version of the program doesn't know.
  struct Unknown: Error, CustomStringConvertible {
    let name: String
    var description: String { "“\(name)” is unknown to this version of the program" }
  }

  /// Reads one order.
  ///
  /// - Throws: `OrderUnreadable`; an error of the database, which says nothing about the order.
  static func read(_ id: OrderID, _ body: () throws -> Order) throws -> Order {
    do {
      return try body()
    } catch  where error is Unknown || error is DecodingError {
      throw OrderUnreadable(order: id, reason: "\(error)")
    }
  }

  /// Throws unless each step is one that this version can go on with, and undo.
  func checkSteps() throws {
    for step in steps where OrderStep(key: step.key) == nil { throw Unknown(name: step.key) }
  }
}
