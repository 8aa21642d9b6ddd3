import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

@Test(arguments: SimulatedEnvironment.seeds)
func `an upload ends`(seed: UInt64) throws {
  let simulation = SimulatedEnvironment(seed: seed)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let upload = ResultOperation(name: "upload") { 1 }
  queue.addOperation(upload)
  simulation.run()
  try expectOutcome(of: upload, is: .succeeded)
}

@Test func `SimulatedEnvironment: several seeds in one loop`() throws {
  for seed in SimulatedEnvironment.seeds {
    let simulation = SimulatedEnvironment(seed: seed)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let upload = ResultOperation(name: "upload") { 1 }
    queue.addOperation(upload)
    simulation.run()
    try expectOutcome(of: upload, is: .succeeded)
  }
}
