// Run closures in a queue, one after the other.
//
//     swift run --package-path Samples/Examples hello
//
// Prints:
//  1. resize the photos
//  2. write the page that shows them
//  done

import AdvancedOperations

let queue = AdvancedOperationQueue()

let resize = ResultOperation(name: "resize") { print("1. resize the photos") }
let page = ResultOperation(name: "page") { print("2. write the page that shows them") }

// Without this line, both could run at the same time. A dependency is only about order: `page` runs
// even if `resize` fails. The example `results` shows an operation that needs a value.
page.addDependency(resize)

// The order in the array doesn't matter. Nothing prints the error of an operation that fails, unless you
// await its value, as `results` does, or attach an observer: `queue.addObserver(LogObserver { print($0) })`
queue.addOperations([page, resize])
try await queue.untilAllOperationsAreFinished()
print("done")
