// Keep an operation from running unless a condition is satisfied, and find out why it didn't run.
//
//     swift run --package-path Samples/Examples guarded
//
// Prints:
//  not uploaded:
//  condition “on Wi-Fi”: 800 MB are too much for mobile data.
//  ask the user: Upload 800 MB all the same?

import AdvancedOperations

enum Network {
  case wiFi, mobile
}

// The error has the values that the program needs to react, and a text for people.
struct TooLarge: Error, CustomStringConvertible {
  let megabytes: Int
  var description: String { "\(megabytes) MB are too much for mobile data." }
}

// An immediate condition answers without waiting. The queue evaluates it when the dependencies have
// finished, and again when the operation starts, because the network may have changed in the meantime.
struct OnWiFi: ImmediateCondition {
  let megabytes: Int
  let network: @Sendable () -> Network
  var name: String { "on Wi-Fi" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    switch network() {
    case .wiFi: .satisfied
    case .mobile: .failed(TooLarge(megabytes: megabytes))
    }
  }
}

let queue = AdvancedOperationQueue()
let upload = ResultOperation(name: "upload") { "12 photos" }
// Conditions are attached before the operation is added to a queue. A program asks the system in the
// closure; with `.wiFi` the photos are uploaded.
upload.addCondition(OnWiFi(megabytes: 800) { .mobile })

do {
  print("uploaded \(try await queue.run(upload))")
} catch let failure as OperationFailure {
  print("not uploaded:\n\(failure)")
  // Finds the error by its type, even if a dependency or a child of a group failed with it.
  if let error = failure.first(TooLarge.self) {
    print("ask the user: Upload \(error.megabytes) MB all the same?")
  }
}
