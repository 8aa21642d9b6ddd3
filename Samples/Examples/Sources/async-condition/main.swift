// Ask a server before an operation runs. The answer may also be that there is nothing to do.
//
//     swift run --package-path Samples/Examples async-condition
//
// Prints:
//  publish tool 1.4 has finished: skipped: the registry has it already
//  publish tool 1.5 has finished: succeeded
//  publish tol 1.5 has finished without having run: failed
//    condition “is new”: The registry has no package “tol”.

import AdvancedOperations

struct UnknownPackage: Error, CustomStringConvertible {
  let package: String
  var description: String { "The registry has no package “\(package)”." }
}

// Stands for a server.
actor Registry {
  private var published = ["tool": ["1.3", "1.4"]]

  func versions(of package: String) throws -> [String] {
    guard let versions = published[package] else { throw UnknownPackage(package: package) }
    return versions
  }

  func publish(_ version: String, of package: String) { published[package]?.append(version) }
}

// All conditions of an operation are evaluated at the same time, each in a task of its own, so one
// that waits for a server delays no other condition and no other operation.
struct IsNew: OperationCondition {
  let package: String
  let version: String
  let registry: Registry
  var name: String { "is new" }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    do {
      let isPublished = try await registry.versions(of: package).contains(version)
      return isPublished ? .skipped(reason: "the registry has it already") : .satisfied
    } catch {
      return .failed(error)
    }
  }
}

let queue = AdvancedOperationQueue()
let registry = Registry()

for (package, version) in [("tool", "1.4"), ("tool", "1.5"), ("tol", "1.5")] {
  let publish = ResultOperation(name: "publish \(package) \(version)") {
    await registry.publish(version, of: package)
  }
  publish.addCondition(IsNew(package: package, version: version, registry: registry))
  // Cancels the operation if the server doesn't answer.
  publish.addObserver(TimeoutObserver(.seconds(30), of: .evaluating))
  queue.addOperation(publish)
  try await publish.untilFinished()
  print(publish.explain())
}
