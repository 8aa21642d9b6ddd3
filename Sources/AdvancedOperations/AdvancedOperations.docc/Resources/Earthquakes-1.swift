import AdvancedOperations

let locate = ResultOperation(name: "locate") { "all_week" }

let queue = AdvancedOperationQueue()
print(try await queue.run(locate))
