// Treat several operations as one, and undo what was done if one of them fails.
//
//     swift run --package-path Samples/Examples group
//
// Prints:
//  reserve the seats of order 17
//  charge 40 € for order 17
//  refund order 17
//  release the seats of order 17
//  order has finished: failed
//    child “ticket”
//      The printer is out of paper.

import AdvancedOperations

struct OutOfPaper: Error, CustomStringConvertible {
  var description: String { "The printer is out of paper." }
}

// The hall and the bank know each request by the number of the order. The same number undoes it.
let id = "order 17"

let reserve = ResultOperation(name: "reserve") { print("reserve the seats of \(id)") }
// Register the rollback before the request is made: a cancel may come while the request is on its
// way. So a rollback has to accept that there may be nothing to undo.
reserve.onRollback { print("release the seats of \(id)") }

let pay = reserve.then(name: "pay") { print("charge 40 € for \(id)") }
pay.onRollback { print("refund \(id)") }

let ticket = pay.then(name: "ticket") { throw OutOfPaper() }

// The first failure cancels the other children. When all have ended, the rollbacks run: that of the
// child that started last comes first.
let order = GroupOperation(name: "order", errorPolicy: .failFast) {
  reserve
  pay
  ticket
}

// The group adds its children itself.
let queue = AdvancedOperationQueue()
queue.addOperation(order)
try await order.untilFinished()
print(order.explain())
