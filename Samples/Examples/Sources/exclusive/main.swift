// Let operations that change the same thing run one at a time, without blocking a thread.
//
//     swift run --package-path Samples/Examples exclusive
//
// Prints:
//  without a claim: at least one deposit is lost
//  with a claim: the balance is 60 €

import AdvancedOperations

// Stands for a server, which has no method that adds to the balance: a client reads it, adds, and
// writes it back. If two clients do so at the same time, the second write overwrites the first.
actor Account {
  private(set) var balance = 0
  func set(_ newBalance: Int) { balance = newBalance }
}

func deposit(_ amount: Int, to account: Account) -> AdvancedOperation {
  ResultOperation(name: "deposit \(amount) €") {
    let balance = await account.balance
    try await OperationClock.current.sleep(for: .milliseconds(20))  // a slow network
    await account.set(balance + amount)
  }
}

let queue = AdvancedOperationQueue()
let amounts = [10, 20, 30]

let unprotected = Account()
queue.addOperations(amounts.map { deposit($0, to: unprotected) })
try await queue.untilAllOperationsAreFinished()
let isComplete = await unprotected.balance == 60
print("without a claim: \(isComplete ? "lucky" : "at least one deposit is lost")")

let account = Account()
for amount in amounts {
  let deposit = deposit(amount, to: account)
  // Operations whose claims have the same name run one at a time, even in different queues. One
  // that waits for its claim occupies neither a thread nor a slot of the queue.
  deposit.addClaim(MutuallyExclusive("account 17"))
  queue.addOperation(deposit)
}
try await queue.untilAllOperationsAreFinished()
print("with a claim: the balance is \(await account.balance) €")
