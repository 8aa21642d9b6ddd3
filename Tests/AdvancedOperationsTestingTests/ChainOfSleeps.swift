import AdvancedOperations

/// A group whose children sleep for a second each, one after the other.
func chainOfEightSleeps(by clock: OperationClock) -> GroupOperation {
  let group = GroupOperation(name: "group")
  var previous: ResultOperation<Void>?
  for number in 1...8 {
    let step = ResultOperation(name: "step \(number)") {
      try await clock.sleep(for: .seconds(1))
    }
    if let previous { step.addDependency(previous) }
    group.addOperation(step)
    previous = step
  }
  return group
}
